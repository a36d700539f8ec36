"""`flybench compare A B`: compare two runs of the same task, sample by sample.

The runs may differ in method, settings or flybench's own commit. `comparability.py` refuses runs
whose figures would have no meaning together. `gates.py` decides by the ends of an interval and
never by its point estimate.
"""
