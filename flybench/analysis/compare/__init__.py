"""`flybench compare A B`: two runs of the same questions, sample by sample.

They may differ in method, settings or flybench's own commit. What would make a figure meaningless
is refused (`unlike.py`); gates ask an interval's end and never its middle (`gates.py`).
"""
