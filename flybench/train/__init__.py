"""Makes drafters for a target out of its own answers: an EAGLE-3 head, or a small draft model.

`answers.py` lets the target answer prompts in large batches, `corpus.py` keeps the answers,
`vocabulary.py` picks the ids that a drafter may propose, `optimise.py` is the loop that every
training runs in; `eagle3.py` and `distill.py` say what is learned. Only prompts come from outside.
"""
