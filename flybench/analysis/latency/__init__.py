"""Measure the latency of a step of a pair, and project a run's rounds with measured costs.

`sweep.py` times passes and computes their two floors, `decoding.py` times a draft, a verdict and
whole rounds, and `measure.py` combines them. `table.py` and `terminal.py` present the results,
`record.py` writes them. `costs.py` and `projection.py` apply them to recorded rounds.
"""

# A pair's own weights, or random ones of the same shapes.
WEIGHTS = ("own", "random")
