"""Execution of runs: setup, plan, session, runner, sweeps, progress and provenance."""
