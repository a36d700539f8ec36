"""`flybench tune`: which setting of loose verification is worth its risk, for one pair and task.

    flybench tune model=smollm2 task=humaneval [limit=100] [tune.theta=0.1,0.3] [latency=FILE]

`settings.py` has the grid, `prepare.py` checks it and splits the samples; `search.py` says what one
half records, replays the grid over that and picks candidates; `risk.py` weighs what each would let
through; `confirm.py` decodes the other half with the candidates until intervals decide;
`recommendation.py` says what follows, `tables.py` shows it, and `page.py` and `write.py` keep the
setting with its evidence.
"""
