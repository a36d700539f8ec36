"""The command line, with one module per verb.

`declare` adds a verb's options and settings to its parser, and `run` executes it. `run` imports
PyTorch only after its arguments are checked, so `--help` and errors about typos are fast.
"""
