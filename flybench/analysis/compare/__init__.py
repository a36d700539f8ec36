"""`flybench compare A B`: compare two runs of the same task, sample by sample.

The runs may differ in method, settings or flybench's own commit. `comparability.py` rejects runs
whose metrics cannot be compared meaningfully. `gates.py` decides by the whole interval, never by
the point estimate.
"""
