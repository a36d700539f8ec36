"""From a model's name to loaded weights: sources, conversion, placement, pairing."""
