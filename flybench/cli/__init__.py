"""The command line: one module a verb; only these read arguments and print help."""
