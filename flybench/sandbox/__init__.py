"""The sandbox in which programs written by models run."""
