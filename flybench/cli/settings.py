"""Settings of a run, as the help of several verbs lists them."""

from __future__ import annotations

MODEL = (
    ("model=NAME", "a pair of models, see `flybench list models`"),
    ("model.target.path=PATH", "a hub id, a folder or a .gguf file of your own"),
    ("model.draft.path=PATH", "the same for the draft model"),
)
METHOD = (
    ("method=NAME", "a method, see `flybench list methods`"),
    ("method.k=N", "the draft length K"),
)
TASK = (
    ("task=NAME", "a task, see `flybench list tasks`"),
    ("task.path=FILE", "local data instead of the usual source"),
    ("limit=N", "how many samples; all without it"),
)
JUDGE = (
    ("judge=NAME", "openai, local or none: a model that scores what no rule can"),
    ("judge.model=NAME", "the judging model"),
    ("judge.KEY=VALUE", "another setting of the judge, such as judge.base_url=URL"),
)
ENGINE = (
    ("engine=NAME", "auto, eager or graph"),
    ("engine.KEY=VALUE", "engine.dtype=bf16, engine.device=cuda:1, engine.threads=8, engine.tp=2"),
)
OUT = (("out=DIR", "where folders of runs go; results without it"),)
ANY = (("KEY=VALUE", "any other setting of the files in conf/"),)
