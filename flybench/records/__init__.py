"""A run's folder: records, token texts, traces, and safe reading and writing of them."""
