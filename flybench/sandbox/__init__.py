"""The sandbox for programs written by models."""
