"""The command line: one module a verb.

`declare` adds a verb's options and settings to its parser, `run` does the work. Neither `--help`
nor the refusal of a typo imports PyTorch: `run` imports the work once its arguments are checked.
"""
