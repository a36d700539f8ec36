"""Loading of models: sources, conversion, placement and pairing."""
