"""`flybench tune`: which setting of loose verification is worth its risk, for one pair and task.

    flybench tune model=smollm2 task=humaneval [limit=100] [tune.theta=0.1,0.3] [latency=FILE]

`settings.py` has the grid; `search.py` records the exact rule on one half of the samples, replays
the grid over it and picks candidates; `risk.py` weighs what each would let through; `confirm.py`
decodes the other half with the candidates until intervals decide; `verdict.py` says what follows,
and `write.py` keeps the setting with its evidence.
"""
