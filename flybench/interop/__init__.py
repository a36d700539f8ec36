"""Interoperation: flybench as a model of lm-eval, and exports for other tools."""
