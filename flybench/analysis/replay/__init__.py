"""Estimate the acceptance of other settings from a run's recorded drafts, without a model.

    flybench replay RUN method.verify.theta=0.1,0.3 method.verify.window=2,4 method.k=5,10

`traced_rows.py` reads a run's traces and `drafts.py` imputes missing drafts. `walk.py` replays one
setting along the recorded text. `grid.py` tabulates many settings, and `blend.py` combines several
recordings. `speedups.py` adds projected speed-ups, and `against.py` compares replays with real
runs. The entry point is `flybench.analysis.replay.grid.replay`.
"""
