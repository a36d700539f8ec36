"""Loading models and running them; the only place that knows transformers' cache."""
