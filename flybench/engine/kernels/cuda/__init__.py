"""Triton versions of the operations, imported only where CUDA is."""
