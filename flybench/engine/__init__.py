"""Loading and execution of models; only this package uses transformers' cache."""
