"""Measurements of the machine: clock, environment, GPU telemetry and roofline."""
