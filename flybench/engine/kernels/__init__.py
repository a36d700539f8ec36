"""Operations that dominate the time of a decode step, each implemented twice.

A PyTorch version is the reference and runs anywhere; a Triton version runs on CUDA. Both implement
one `torch.library` operator, which is a single node for `torch.compile`. Every row of the output is
computed in an order that does not depend on the number of rows (batch invariance): verifying 16
tokens is bitwise identical to decoding them one by one. Only draft models may use another kernel
for a single row.
"""
