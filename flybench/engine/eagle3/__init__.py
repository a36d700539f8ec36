"""EAGLE-3: a single-layer head that drafts from the target's own hidden states.

`head.py` is the network, `model.py` runs it with a cache, `checkpoint_layout.py` and
`checkpoint.py` read the three public formats, and `taps.py` captures the hidden states of the
target. `flybench/draft/eagle3.py` drafts with it.
"""
