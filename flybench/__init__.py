"""flybench: how much faster speculative decoding is, how much accuracy it keeps, and how sure."""

__version__ = "0.1.0"
