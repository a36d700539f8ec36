"""Metrics computed from records: sample tables, statistics, paired estimates and summaries."""
