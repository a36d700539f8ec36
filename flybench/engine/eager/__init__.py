"""The eager engine: transformers models with a growable cache that can be rolled back."""
