"""Tables of one method against AR: all samples, flips with their answers, and categories."""

from __future__ import annotations

import math
import os
from typing import Any

import pandas as pd

from flybench.core.judgements import HIGHEST
from flybench.core.samples import Record
from flybench.metrics.divergence import TIE_MARGIN, first_divergences
from flybench.metrics.stats import ratio
from flybench.report.run import Arm, Run
from flybench.report.tables.table import Column, Table, TableCell
from flybench.text import NONE, number, shorten

EXCERPT = 160
LEAD = 40
LISTED = 200
DIVERGENCE = (
    "Index of the first differing token (0-based), and AR's top-2 logit gap there. Below "
    f"{TIE_MARGIN:g} it is a near tie that a different summation order can flip, unless a loose "
    "rule accepted the method's token; otherwise it is a real difference"
)
FLIPS = {-1: "▼ lost", 1: "▲ won"}


def samples(run: Run, arm: Arm) -> Table:
    """Return a table with one row per sample that AR or the method finished, at most `LISTED`."""
    columns = [
        Column("sample", numeric=False),
        Column("category", numeric=False),
        Column("flip", numeric=False, title=_meaning(arm)),
        *_verdicts(arm),
        Column("tokens, AR"),
        Column("tokens"),
        Column("speed-up, throughput", "×", "(N / decode_s) / (N_ar / decode_s_ar)"),
        Column("speed-up, time to answer", "×", "total_s_ar / total_s"),
        Column("τ", "tokens/round", "N / R"),
        Column("loose", "tokens"),
        Column("in loops", "tokens"),
        Column("diverges from AR at", "token", DIVERGENCE),
        Column("finish, AR", numeric=False),
        Column("finish", numeric=False),
    ]
    table = run.joined(arm)
    count = len(table)
    table = table.head(LISTED).copy()
    which = "all samples" if count <= LISTED else f"the first {LISTED} of {count:,} samples"
    table["throughput"] = (table["tokens"] / table["decode_s"]) / (
        table["tokens_ar"] / table["decode_s_ar"]
    )
    table["latency"] = table["total_s_ar"] / table["total_s"]
    table["tau"] = table["tokens"] / table["rounds"]
    table = table.join(first_divergences(run.baseline, arm.samples))
    rows = [_sample(run, arm, str(row["sample_id"]), row) for row in _rows(table)]
    return Table(f"{arm.label}: {which} against AR", columns, rows)


def _sample(run: Run, arm: Arm, sample_id: str, row: dict[str, Any]) -> list[TableCell]:
    records = run.folder.records()
    flip = FLIPS.get(_flip(arm, row), "")
    kind = flip[2:]
    finishes = [_finish(records.get((sample_id, name))) for name in ("ar", arm.method)]
    category = row["category"] if isinstance(row["category"], str) else row["category_ar"]
    return [
        TableCell(sample_id, kind=kind),
        TableCell(category),
        TableCell(flip, kind=kind),
        *(TableCell(_verdict(arm, row[name])) for name in ("correct_ar", "correct")),
        *(TableCell(number(row[name], 0)) for name in ("tokens_ar", "tokens")),
        *(
            TableCell(number(row[name]), kind="slower" if row[name] < 1 else "")
            for name in ("throughput", "latency")
        ),
        TableCell(number(row["tau"])),
        *(TableCell(number(row[name], 0)) for name in ("loose", "looped")),
        _divergence(row),
        *(TableCell(finish) for finish in finishes),
    ]


def _divergence(row: dict[str, Any]) -> TableCell:
    """Index of the first divergence, with its kind and AR's logit gap as a note."""
    if math.isnan(row["diverged_at"]):
        return TableCell(NONE)
    gap = "AR had ended" if math.isinf(row["margin"]) else number(row["margin"])
    return TableCell(
        number(row["diverged_at"], 0), f"{'tie' if row['tie'] is True else 'real'}, {gap}"
    )


def flips(run: Run, arm: Arm) -> Table | None:
    """Return the samples that only one of the two solved, or of which a judge prefers one, with
    both answers; None without any."""
    records, scores = run.folder.records(), run.folder.scores()
    rows = []
    for row in _rows(run.joined(arm)):
        key = str(row["sample_id"])
        flip = _flip(arm, row)
        if not flip:
            continue
        texts = [_text(records[key, name]) for name in ("ar", arm.method)]
        shared = max(len(os.path.commonprefix(texts)) - LEAD, 0)
        cells = [TableCell(key, kind=FLIPS[flip][2:]), TableCell(FLIPS[flip], kind=FLIPS[flip][2:])]
        for name, text in zip(("ar", arm.method), texts, strict=True):
            start = "…" if shared else ""
            score = scores[key, name]
            extracted = score.reason if arm.graded else score.extracted
            cells.append(
                TableCell(
                    NONE if extracted is None else shorten(extracted, EXCERPT), kind="message"
                )
            )
            cells.append(TableCell(start + shorten(text[shared:], EXCERPT), kind="message"))
        rows.append(cells)
    read = "grades" if arm.graded else "extracted"
    excerpt = "text at the divergence"
    labels = ("sample", "flip", f"{read}, AR", f"{excerpt}, AR", read, excerpt)
    columns = [Column(label, numeric=False) for label in labels]
    which = "answers where the judge has a preference" if arm.graded else "flipped answers"
    return Table(f"{arm.label}: {which}", columns, rows) if rows else None


def categories(run: Run, arm: Arm) -> Table | None:
    """Return accuracy and speed by category over paired samples; None for a single category."""
    pairs = run.pair(arm).table
    groups = list(pairs.groupby("category"))
    if len(groups) < 2:
        return None
    columns = [
        Column("category", numeric=False),
        Column("pairs"),
        *_verdicts(arm),
        Column("speed-up, throughput", "×"),
        Column("speed-up, time to answer", "×"),
        Column("τ pooled", "tokens/round"),
        Column("loose", "per 1000"),
    ]
    rows = [_category(arm, str(name), group) for name, group in groups]
    return Table(f"{arm.label}: by category", columns, rows)


def _category(arm: Arm, name: str, group: pd.DataFrame) -> list[TableCell]:
    judged = group[["correct_ar", "correct"]].dropna()
    own, plain = (ratio(group[f"tokens{s}"], group[f"decode_s{s}"]) for s in ("", "_ar"))
    return [
        TableCell(name),
        TableCell(number(len(group), 0)),
        *(TableCell(_verdict_of_all(arm, judged[column])) for column in ("correct_ar", "correct")),
        TableCell(number(own / plain if own and plain else None)),
        TableCell(number(ratio(group["total_s_ar"], group["total_s"]))),
        TableCell(number(ratio(group["tokens"], group["rounds"]))),
        TableCell(number(ratio(group["loose"], group["tokens"]), 1, 1000)),
    ]


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(key): value for key, value in row.items()}
        for row in table.reset_index().to_dict("records")
    ]


def _verdicts(arm: Arm) -> list[Column]:
    label, unit = ("grade", f"of {HIGHEST:g}") if arm.graded else ("right", "")
    return [Column(f"{label}, AR", unit), Column(label, unit)]


def _meaning(arm: Arm) -> str:
    if arm.graded:
        return "lost: the judge prefers AR's answer in both orders; won: the method's"
    return "lost: only AR is right; won: only the method is"


def _flip(arm: Arm, row: dict[str, Any]) -> int:
    """Return −1 for lost, 1 for won and 0 for neither; not judged is NaN and compares false."""
    own, other = (row["pairwise"], 0.5) if arm.graded else (row["correct"], row["correct_ar"])
    return int(own > other) - int(own < other)


def _verdict(arm: Arm, value: float) -> str:
    if arm.graded:
        return number(value, 1, HIGHEST)
    return {1.0: "✓", 0.0: "✗"}.get(value, number(value))


def _verdict_of_all(arm: Arm, values: pd.Series) -> str:
    if arm.graded:
        return number(values.mean(), 1, HIGHEST)
    return f"{values.sum():g}/{len(values)}" if len(values) else NONE


def _finish(record: Record | None) -> str:
    if record is None:
        return NONE
    if record.error:
        return "failed"
    return ", ".join(dict.fromkeys(turn.finish for turn in record.turns))


def _text(record: Record) -> str:
    return "\n".join(turn.text for turn in record.turns)
