"""The graph engine: the same transformers modules, run close to the memory bandwidth.

`support.py` decides which models it supports. `layers.py` gives each layer a static cache, one
compiled step and joined projections, and `forward.py` passes over them. `model.py` captures a pass
of a fixed width as one CUDA graph, `draft.py` a whole draft, and `target.py` adds the verdict;
`shards.py` splits a model over ranks. On a CPU the same code runs without capture or compilation;
tests compare it with the eager engine.
"""
