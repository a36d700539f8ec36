"""A run's folder: append-only records, resume, and provenance.

results/NAME/  config.yaml provenance.json prompt.txt   written before the first token
               records.jsonl                            one line per sample and method
               judgements.jsonl                         one line per verdict of a judge model
               pieces.json                              the text of every token id in the answers
               traces/                                  one Parquet file per record, optional
               scores.jsonl summary.json summary.csv    can be rebuilt from the others

`xz results/NAME/records.jsonl` compresses finished records to a tenth of their size or less. They
are read as before, and a resumed run starts a new records.jsonl next to them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from flybench.config import RunConfig
from flybench.config.groups import read_yaml
from flybench.core.errors import FlybenchError
from flybench.core.files import write_atomically
from flybench.core.judgements import Judgement
from flybench.core.samples import Record, Score
from flybench.records.jsonl import append_line, line, read_jsonl, record_line

log = logging.getLogger(__name__)

Key = tuple[str, str]
# Keys that a summary needs.
PROVENANCE = {"model", "task", "device", "engine", "retention_margin"}
RECORDS, JUDGEMENTS = "records.jsonl", "judgements.jsonl"
# The token ids that a drafter with a trimmed vocabulary can propose.
DRAFT_IDS = "draft_ids.json"


class RunFolder:
    """The files of one run. Records are keyed by sample and method; the last line of a key wins."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def existing(cls, path: Path) -> RunFolder:
        """Return a folder that a run has written.

        Raises:
            FlybenchError: `path` is not a run.
        """
        folder = cls(path)
        if not folder.config_file.is_file():
            raise FlybenchError(
                f"{path} is not a run folder (it has no config.yaml): pass one that "
                "`flybench run` printed, such as results/NAME."
            )
        return folder

    @classmethod
    def all_existing(cls, paths: Sequence[Path]) -> list[RunFolder]:
        """Return those of `paths` that are runs, and log a warning for each other path.

        Raises:
            FlybenchError: a path does not exist, or none is a run.
        """
        found = [cls(path) for path in paths if cls(path).config_file.is_file()]
        for path in paths:
            if not found or not path.exists():
                cls.existing(path)
            if not cls(path).config_file.is_file():
                log.warning("Skipping %s, which is not a run folder.", path)
        return found

    @property
    def config_file(self) -> Path:
        return self.path / "config.yaml"

    def config(self) -> RunConfig:
        """The settings of the run.

        Raises:
            FlybenchError: config.yaml is damaged, or has settings that are not allowed.
        """
        return RunConfig.from_tree(read_yaml(self.config_file))

    @property
    def records_file(self) -> Path:
        return self.path / RECORDS

    def append(self, noun: Record | Judgement) -> None:
        """Append one line and flush it to disk."""
        if isinstance(noun, Record):
            append_line(self.records_file, record_line(noun))
        else:
            append_line(self.path / JUDGEMENTS, line(noun))

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock the folder against other processes.

        Raises:
            FlybenchError: another process holds the lock.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            raise FlybenchError(
                f"another process is using {self.path}: wait for it to finish, or set out= "
                "to another folder."
            ) from error
        try:
            yield
        finally:
            lock.release()

    def repair(self, name: str = RECORDS) -> bool:
        """Remove an incomplete last line, as left by a kill; return whether there was one."""
        path = self.path / name
        if not path.exists():
            return False
        data = path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end == len(data):
            return False
        with path.open("r+b") as stream:
            stream.truncate(end)
        return True

    def archive(self) -> None:
        """Move records, scores and traces into `replaced-N/`, so the next run starts anew."""
        number = len(list(self.path.glob("replaced-*"))) + 1
        aside = self.path / f"replaced-{number}"
        for name in (RECORDS, f"{RECORDS}.xz", JUDGEMENTS, "scores.jsonl", "traces"):
            if (self.path / name).exists():
                aside.mkdir(exist_ok=True)
                (self.path / name).rename(aside / name)

    def cached(self, key: Key, make: Callable[[], Any]) -> Any:
        """Return the result of `make`; a `CachedFolder` caches it by `key`."""
        return make()

    def records(self) -> dict[Key, Record]:
        """Return the last record of each sample and method; a failure never replaces a success.

        Raises:
            FlybenchError: a line is damaged, or has neither an answer nor an error.
        """
        found: dict[Key, Record] = {}
        for record in read_jsonl(self.records_file, Record):
            if not (record.turns or record.error):
                raise FlybenchError(
                    f"{self.records_file} has a record of {record.sample_id} with neither an "
                    "answer nor an error: remove that line and resume the run."
                )
            key = record.sample_id, record.method
            before = found.get(key)
            if before is None or before.error or not record.error:
                found[key] = record
        return found

    def scores(self) -> dict[Key, Score]:
        """Return the scores by sample and method; empty before scoring."""
        scores = read_jsonl(self.path / "scores.jsonl", Score)
        return {(score.sample_id, score.method): score for score in scores}

    def judgements(self) -> dict[str, Judgement]:
        """Return the last judgement of each key; a failure never replaces a success."""
        found: dict[str, Judgement] = {}
        for judgement in read_jsonl(self.path / JUDGEMENTS, Judgement):
            before = found.get(judgement.key)
            if before is None or before.error or not judgement.error:
                found[judgement.key] = judgement
        return found

    def write_scores(self, scores: Iterable[Score]) -> None:
        """Replace the scores."""
        self.write("scores.jsonl", b"".join(map(line, scores)).decode())

    def write(self, name: str, text: str) -> None:
        """Replace a file atomically."""
        write_atomically(self.path / name, text)

    def read_json(self, name: str) -> Any:
        """Read a JSON file of the folder; None if it does not exist.

        Raises:
            FlybenchError: the file is damaged.
        """
        path = self.path / name
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FlybenchError(
                f"{path} is damaged ({error}): delete it and rerun `flybench run` with the same "
                "settings to rewrite it."
            ) from error

    def provenance(self) -> dict[str, Any]:
        """Read provenance.json.

        Raises:
            FlybenchError: the file is missing, damaged or incomplete.
        """
        known = self.read_json("provenance.json")
        if not isinstance(known, dict) or PROVENANCE - set(known):
            raise FlybenchError(
                f"{self.path / 'provenance.json'} is missing or incomplete: rerun `flybench run` "
                "with the same settings to rewrite it; finished samples are not decoded again."
            )
        return known

    def amend_invocation(self, **facts: Any) -> None:
        """Add facts to the last invocation in provenance.json."""
        known = self.provenance()
        known["invocations"][-1] |= facts
        self.write_json("provenance.json", known)

    def amend(self, **facts: Any) -> None:
        """Set facts about the scores in provenance.json; an unchanged file is not rewritten."""
        known = self.provenance()
        if any(known.get(name) != value for name, value in facts.items()):
            self.write_json("provenance.json", known | facts)

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, json.dumps(value, indent=2) + "\n")
