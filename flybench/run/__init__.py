"""Driving a run: setup, plan, session, the runner, sweeps, progress, provenance."""
