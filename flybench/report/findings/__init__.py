"""Sentences of the report: verdicts, conclusions and notes."""
