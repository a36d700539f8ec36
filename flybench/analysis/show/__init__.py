"""`flybench show RUN [SAMPLE]`: answers in a terminal, every token with its fate.

`fates.py` reads from a record what became of each token, `paint.py` makes it visible on the texts
that the run's `pieces.json` holds, `parting.py` finds where AR's answer parts, and `answer.py`,
`body.py` and `listing.py` lay out. Nothing that a model or a data set wrote reaches the terminal
unescaped.
"""
