"""What a pass costs: micro-benchmarks, sizes, footprints."""
