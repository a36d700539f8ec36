"""The operations that decide a decode step's time, each written twice.

A plain PyTorch version says what is meant and runs anywhere; a Triton version runs on CUDA. Both
stand behind one `torch.library` operator, so that `torch.compile` sees one node. Every row of the
output is computed alone, in an order that does not depend on how many rows come with it: verifying
16 tokens gives each of them the bits that decoding them one by one would give. Only where nobody
relies on that, in draft models, may a single row take a product of its own.
"""
