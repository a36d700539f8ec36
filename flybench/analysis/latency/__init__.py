"""Measure the step latency of a model pair, and project a run's speed from measured costs.

`sweep.py` times forward passes and computes their lower bounds, `decoding.py` times a draft, a
verification and whole rounds, and `measure.py` combines
them. `table.py` and `terminal.py` present the results,
`record.py` writes them. `costs.py` and `projection.py` apply them to recorded rounds.
"""

# A pair's own weights, or random ones of the same shapes.
WEIGHTS = ("own", "random")
