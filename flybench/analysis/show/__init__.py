"""`flybench show RUN [SAMPLE]`: answers in a terminal, every token with its outcome.

`outcomes.py` reads the outcome of each token from a record, `paint.py` makes it visible on the
texts of the run's `pieces.json`, `parting.py` finds the first difference from AR's answer, and
`answer.py`, `body.py` and `listing.py` lay out. Nothing that a model or a data set wrote reaches
the terminal unescaped.
"""
