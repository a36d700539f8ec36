"""Analyses of runs: comparison, inspection, latency, replay, tuning and estimates."""
