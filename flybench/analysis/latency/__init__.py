"""What a step costs for a pair on a machine, and what a run's rounds would give at such costs.

`points.py` says what is varied, `sweep.py` times it beside its two floors, `decoding.py` times a
draft, a verdict and whole rounds; `measure.py` puts them together, `table.py`, `terminal.py`
and `figure.py` show them. `costs.py` and `projection.py` apply them to recorded rounds.
"""

# A pair's own weights, or random ones of the same shapes.
WEIGHTS = ("own", "random")
