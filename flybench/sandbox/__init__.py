"""The sandbox for model-generated code."""
