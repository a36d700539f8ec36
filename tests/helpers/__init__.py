"""What several tests share: toy models, hand-built runs, made-up measurements, small servers."""
