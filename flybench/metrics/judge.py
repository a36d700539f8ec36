"""Metrics from a judge model: outcomes of its comparisons, unreadable replies, tokens and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flybench.core.judgements import AGREEMENT, Judgement
from flybench.core.samples import PAIRWISE, Score
from flybench.metrics.method_summary import PairwiseCounts
from flybench.metrics.stats import accuracy_interval
from flybench.records.folder import RunFolder

JUDGED = (
    *("judge", "pairwise", "win_rate", "win_rate_ci", "judge_inconsistent"),
    *("judge_asked", "judge_unparseable", "judge_failed"),
    *("judge_tokens_in", "judge_tokens_out", "judge_cost"),
)


def judged(folder: RunFolder, method: str) -> dict[str, Any]:
    """Return metrics of the judgements behind a method's scores; None without judgements."""
    scores = [score for (_, name), score in folder.scores().items() if name == method]
    keys = {key for score in scores for key in score.judgements}
    if not keys:
        return dict.fromkeys(JUDGED)
    judgements = folder.judgements()
    own = [judgements[key] for key in sorted(keys) if key in judgements]
    failed = sum(judgement.error is not None for judgement in own)
    unread = sum(judgement.verdict is None for judgement in own) - failed
    return _compared(scores) | {
        "judge": own[-1].judge if own else None,
        "judge_asked": len(keys),
        "judge_unparseable": unread,
        "judge_failed": failed,
        "judge_tokens_in": _total(own, "tokens_in"),
        "judge_tokens_out": _total(own, "tokens_out"),
        "judge_cost": _total(own, "cost"),
    }


def _compared(scores: Sequence[Score]) -> dict[str, Any]:
    points = [score.metrics[PAIRWISE] for score in scores if PAIRWISE in score.metrics]
    if not points:
        return dict.fromkeys(("pairwise", "win_rate", "win_rate_ci", "judge_inconsistent"))
    agreed = [score.metrics[AGREEMENT] for score in scores if AGREEMENT in score.metrics]
    return {
        "pairwise": PairwiseCounts(points.count(1.0), points.count(0.5), points.count(0.0)),
        "win_rate": sum(points) / len(points),
        "win_rate_ci": accuracy_interval(points),
        "judge_inconsistent": agreed.count(0.0),
    }


def _total(judgements: Sequence[Judgement], name: str) -> float | None:
    """Sum over successful calls; None if one of them lacks the value."""
    values = [getattr(each, name) for each in judgements if each.error is None]
    return None if None in values else sum(values)
