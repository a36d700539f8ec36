"""Print the answers of a run in a terminal, with the outcome of every token: `flybench show`.

`outcomes.py` maps recorded outcomes to marks and colours, `body.py` marks the text of an answer and
its first difference from AR's, and `answer.py` lays out a sample or the list of samples. Text from
a model or a data set is escaped before it is printed.
"""
