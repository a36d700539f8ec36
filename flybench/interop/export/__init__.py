"""`flybench export RUN… --to parquet|datasets|lm_eval --out DIR`: records for other tools.

`rows.py` lays a record out as a row, `tables.py` writes rows as Parquet or as a `datasets` folder,
`lm_eval.py` lets lm-eval's own tracker write its files. Everything comes from what a run's folder
holds; paths of models, command lines and environments stay there.
"""
