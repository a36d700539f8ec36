"""Scoring of records, by the rule of a task or by a judge model."""
