"""`flybench show RUN [SAMPLE]`: answers in a terminal, every token with its fate.

`fates.py` reads from a record what became of each token, `pieces.py` finds the tokens' texts where
the target's tokenizer is at hand, `paint.py` makes both visible, `answer.py` and `listing.py` lay
out. Nothing that a model or a data set wrote reaches the terminal unescaped.
"""
