"""Questions asked of finished runs: compare two, show an answer, cost, replay, tune, estimate."""
