"""One module a verb: `declare` adds its options to a parser, `run` does the work.

`--help` and the refusal of a typo import nothing heavy: `run` imports the work once its arguments
are checked.
"""
