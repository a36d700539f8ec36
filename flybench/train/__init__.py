"""Train drafters on a target's own answers: an EAGLE-3 head or a small draft model.

`answers.py` generates answers of the target in large batches and `corpus.py` stores them.
`training_set.py` splits them, with the draft vocabulary of `vocabulary.py`. `losses.py`,
`eagle3.py` and `distill.py` define the losses, and `optimise.py` is the training loop. Prompts are
the only external input.
"""
