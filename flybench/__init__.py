"""flybench: measure the speed-up and accuracy of speculative decoding, with uncertainties."""

__version__ = "0.1.0"
