"""The report's sentences: what the figures say, and what qualifies them."""
