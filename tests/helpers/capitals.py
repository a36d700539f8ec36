"""A small task in lm-eval's format with its data, asked from flybench's side and from lm-eval's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval.tasks import TaskManager

from flybench.cli.main import main
from flybench.core.samples import Record
from flybench.records.folder import RunFolder
from flybench.records.jsonl import read_jsonl

SHOWN = {"Peru": "Lima", "Iran": "Tehran", "Spain": "Madrid"}
ASKED = {"France": "Paris", "Italy": "Rome", "Mali": "Bamako", "Chile": "Santiago"}
TOKENS = 12
RECIPE: dict[str, Any] = {
    "task": "capitals",
    "dataset_path": "json",
    "output_type": "generate_until",
    "training_split": "train",
    "test_split": "test",
    "fewshot_split": "train",
    "doc_to_text": "What is the capital of {{country}}?",
    "doc_to_target": "{{city}}",
    "num_fewshot": 2,
    "generation_kwargs": {"until": ["\n"], "max_gen_toks": TOKENS},
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "metadata": {"version": 1.0},
}


def without_defaults(patch: pytest.MonkeyPatch) -> None:
    """Let lm-eval's command know only the recipe that it is given: an index of all takes 15 s."""
    whole = partialmethod(TaskManager.__init__, include_defaults=False)
    patch.setattr(TaskManager, "__init__", whole)


@dataclass(frozen=True)
class Capitals:
    """The task's files in a folder of its own."""

    folder: Path

    @classmethod
    def write(cls, folder: Path, **change: Any) -> Capitals:
        """The recipe with `change`, and a file a split."""
        files = {}
        for split, pairs in {"train": SHOWN, "test": ASKED}.items():
            rows = [{"country": country, "city": city} for country, city in pairs.items()]
            files[split] = folder / f"{split}.jsonl"
            files[split].write_text("".join(json.dumps(row) + "\n" for row in rows))
        data = {"data_files": {split: str(file) for split, file in files.items()}}
        whole = RECIPE | {"dataset_kwargs": data} | change
        own = cls(folder)
        own.recipe.write_text(yaml.safe_dump(whole))
        return own

    @property
    def recipe(self) -> Path:
        return self.folder / "capitals.yaml"

    def run(self, method: str, *settings: str) -> tuple[list[Record], list[float | None]]:
        """`flybench run task=lm_eval`: the method's records and scores, in the order asked."""
        task = [f"task.recipe={self.recipe}", f"task.path={self.folder}", "task.name=capitals"]
        cap, out = f"task.max_new_tokens={TOKENS}", self.folder / "results"
        arguments = ["task=lm_eval", *task, cap, f"out={out}", f"method={method}", *settings]
        assert main(["run", *arguments]) == 0
        (path,) = out.glob(f"*-{method}-capitals-*")
        names = [(f"capitals/{number}", method) for number in range(len(ASKED))]
        records, scores = RunFolder(path).records(), RunFolder(path).scores()
        return [records[name] for name in names], [scores[name].correct for name in names]

    def records_file(self) -> Path:
        return self.folder / "answers.jsonl"

    def recorded(self) -> list[Record]:
        """What `records=` has kept of lm-eval's side."""
        return list(read_jsonl(self.records_file(), Record))
