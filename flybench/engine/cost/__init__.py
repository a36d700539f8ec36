"""Costs of a pass: micro-benchmarks, sizes, footprints."""
