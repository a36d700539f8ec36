"""The eager engine: transformers models with a cache that grows and rolls back."""
