"""`flybench export RUN… --to parquet|datasets|lm_eval --out DIR`: records for other tools.

`rows.py` writes records as rows of Parquet or of a `datasets` folder, `lm_eval.py` lets lm-eval's
own tracker write its files. Paths of models, command lines and environments are not exported.
"""
