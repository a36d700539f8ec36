"""What other settings would have accepted of a run's recorded drafts, without a model.

    flybench replay RUN method.verify.theta=0.1,0.3 method.verify.window=2,4 method.k=5,10

`rows.py` reads a run's traces, `drafts.py` guesses what they do not hold, `walk.py` goes along the
text by a setting's verdicts, `grid.py` turns settings into a table, of several recordings by
`blend.py`; `prices.py` adds projected speed-ups, and `against.py` holds the table beside real runs.
`flybench.analysis.replay.grid.replay` is the whole of it as a function.
"""
