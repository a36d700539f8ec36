"""`flybench tune`: choose a setting of loose verification for one model pair and task.

    flybench tune model=smollm2 task=humaneval [limit=100] [tune.theta=0.1,0.3] [latency=FILE]

`search_space.py` has the grid. `prepare.py` checks it and splits the samples into two halves.
`search.py` replays the grid over recordings of the first half and selects candidates, with the risk
estimates of `risk.py`. `confirm.py` decodes the second half with the candidates until intervals
decide. `recommendation.py` chooses a setting, `tables.py` formats the results, and `page.py` and
`write.py` write the setting with its evidence.
"""
