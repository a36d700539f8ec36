"""Triton versions of the operations, imported only on CUDA."""
