"""Help on the settings of a run, shared by several verbs."""

from __future__ import annotations

MODEL = (
    ("model=NAME", "a target-draft model pair, see `flybench list models`"),
    ("model.target.path=PATH", "your own target: Hugging Face Hub id, folder or .gguf file"),
    ("model.draft.path=PATH", "your own draft model"),
)
METHOD = (
    ("method=NAME", "a method, see `flybench list methods`"),
    ("method.k=N", "the draft length K"),
)
TASK = (
    ("task=NAME", "a task, see `flybench list tasks`"),
    ("task.path=FILE", "local data instead of the default source"),
    ("limit=N", "the number of samples (default: all)"),
)
JUDGE = (
    ("judge=NAME", "openai, local or none: a judge for answers that no rule can score"),
    ("judge.model=NAME", "the judge model"),
    ("judge.KEY=VALUE", "another setting of the judge, such as judge.base_url=URL"),
)
ENGINE = (
    ("engine=NAME", "auto, eager or graph"),
    (
        "engine.KEY=VALUE",
        "such as engine.dtype=bf16, engine.device=cuda:1, engine.threads=8, engine.tp=2",
    ),
)
OUT = (("out=DIR", "the folder to create runs in (default: results)"),)
ANY = (("KEY=VALUE", "any other setting of the files in conf/"),)
