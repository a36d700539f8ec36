"""Measuring the machine: clock, environment, GPU telemetry, roofline."""
