"""Slow implementations, written from the papers and definitions, that ours must agree with."""
