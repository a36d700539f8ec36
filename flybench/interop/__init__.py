"""Other programs: lm-eval as a caller, and exports that other tools read."""
