"""Extracting the answer from a text: code and numbers."""
