"""Tasks of lm-eval, with the prompts, filters and metrics of its recipes."""
