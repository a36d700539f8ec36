"""The graph engine: the same transformers modules, run close to the limit of the memory.

`support.py` says what it serves. `layers.py` gives each layer a static cache, one compiled step and
joined projections; `model.py` captures a pass of a fixed width, and a whole draft, as one CUDA
graph each; `target.py` adds the verdict. On a CPU the same code runs without capture or
compilation, which is how the tests compare it with the eager engine.
"""
