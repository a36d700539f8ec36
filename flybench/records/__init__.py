"""The folder of a run: records, token texts, traces, and safe reading and writing."""
