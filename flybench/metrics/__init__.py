"""From records to figures: tables of samples, statistics, paired estimates, summaries."""
