"""The graph engine: the same transformers modules, run close to the memory-bandwidth limit.

`support.py` decides which models it supports. `layers.py` gives each layer a static cache, one
compiled step and fused projections, and `forward.py` runs them. `model.py` captures a fixed-width
pass as one CUDA graph, `draft.py` a whole draft, and `target.py` adds the verification;
`shards.py` shards a model over ranks. On a CPU the same code runs without capture or compilation;
tests compare it with the eager engine.
"""
