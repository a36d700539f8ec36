"""The evidence in words and tables: `tune.md`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from flybench.analysis.tune.confirm import CandidateResult
from flybench.analysis.tune.prepare import Prepared
from flybench.analysis.tune.recommendation import Recommendation
from flybench.analysis.tune.risk import WEIGHTS
from flybench.analysis.tune.search import Found
from flybench.analysis.tune.tables import confirmed, projected
from flybench.analysis.tune.write import CONF
from flybench.text import percent


def page(
    ready: Prepared,
    arguments: Sequence[str],
    found: Found,
    results: Sequence[CandidateResult],
    decided: Recommendation,
    latency: Path,
) -> str:
    """Markdown: what to use, what real runs showed, what replays promised, and how both came."""
    folder, config = ready.folder, ready.config
    use = (
        "Use `method=ar`: nothing here is shown to be faster without a loss."
        if decided.method is None
        else f"Use it: `flybench run --config-dir {folder.path}/conf method=tuned …` ({CONF})."
    )
    runs = " ".join(str(each.folder.path) for each in results)
    level = percent(results[0].level)
    parts = [
        f"# {config.model.name} on {config.task.name}: which setting to use",
        "\n".join(f"- {sentence}" for sentence in decided.sentences),
        use,
        "## Real runs, on samples that chose nothing",
        _code(confirmed(found, results)),
        f"AR and all methods answered each sample side by side. Intervals are of {level}: so wide "
        "that with so many looks at so many settings one is confirmed by chance at most once in "
        "twenty tunings. `speed-up` is AR's time to answer over the method's, `over exact` that of "
        "the exact setting, the one that was projected fastest, over it. A loose setting is "
        "confirmed if it is faster than both, loses at most "
        f"{percent(config.retention_margin)} of AR's accuracy, and failed on no sample that AR "
        "answered. Each `n ≥` counts samples of this half: give `limit` twice that.",
        f"Every token of it: `flybench report {runs}`",
        "## Replays, on the other half",
        _code(projected(found.table)),
        f"{len(found.table)} settings were replayed over recorded drafts at the costs of "
        f"{latency}; these are on the front: none is faster, less risky and less loose at the "
        "opening at once. All are in grid.csv.",
        "![Projected speed-up against risk](front.png)",
        f"`risk` counts loose tokens in 1,000, each weighted by its class: {_weights()}. `opening` "
        "is the share of answers with a loose token among their first 8. Both are estimates of "
        "harm, and no measurement of it.",
        "## How it was made",
        _code(shlex.join(["flybench", "tune", *arguments])),
    ]
    return "\n\n".join(parts) + "\n"


def _code(text: str) -> str:
    return f"```\n{text}\n```"


def _weights() -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in WEIGHTS.items())
