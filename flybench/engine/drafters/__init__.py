"""Drafters derived from a target: skipped layers, trimmed vocabulary, shared embeddings."""
