"""Tasks of lm-eval: prompts, filters and metrics of its own recipes."""
