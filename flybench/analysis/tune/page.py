"""The report of a tuning, `tune.md`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from flybench.analysis.tune.confirm import CandidateResult
from flybench.analysis.tune.prepare import Prepared
from flybench.analysis.tune.recommendation import Recommendation
from flybench.analysis.tune.risk import WEIGHTS
from flybench.analysis.tune.search import SearchResult
from flybench.analysis.tune.tables import confirmed, projected
from flybench.analysis.tune.write import CONF
from flybench.text import percent


def page(
    ready: Prepared,
    arguments: Sequence[str],
    found: SearchResult,
    results: Sequence[CandidateResult],
    decided: Recommendation,
    latency: Path,
) -> str:
    """Return the recommendation, real runs, replays and the command line as Markdown."""
    folder, config = ready.folder, ready.config
    use = (
        "Use `method=ar`: no setting is shown to be faster without a loss of accuracy."
        if decided.method is None
        else f"Use it: `flybench run --config-dir {folder.path}/conf method=tuned …` ({CONF})."
    )
    runs = " ".join(str(each.folder.path) for each in results)
    level = percent(results[0].level)
    parts = [
        f"# {config.model.name} on {config.task.name}: which setting to use",
        "\n".join(f"- {sentence}" for sentence in decided.sentences),
        use,
        "## Real runs, on samples that were not used for the choice",
        _code(confirmed(found, results)),
        f"AR and all methods answered each sample side by side. Intervals are {level} confidence "
        "intervals, corrected for the number of looks and settings: at most one tuning in twenty "
        "confirms a setting by chance. `speed-up` is time to answer, AR ÷ the method. `over exact` "
        "is time to answer, the fastest exact setting by projection ÷ the method. A loose setting "
        "is confirmed if it is faster than both, loses at most "
        f"{percent(config.retention_margin)} of AR's accuracy, and failed on no sample that AR "
        "answered. `n ≥` counts samples of this half: set `limit` to twice that number.",
        f"For all details: `flybench report {runs}`",
        "## Replays, on the first half",
        _code(projected(found.table)),
        f"{len(found.table)} settings were replayed over recorded drafts at the costs of "
        f"{latency}. These are on the Pareto front of speed, `risk` and `opening`. All are in "
        "grid.csv.",
        "![Projected speed-up against risk](front.png)",
        f"`risk` counts loose tokens in 1,000, each weighted by its class: {_weights()}. `opening` "
        "is the share of answers with a loose token among their first 8. Both are estimates of "
        "possible harm, not measurements.",
        "## Command",
        _code(shlex.join(["flybench", "tune", *arguments])),
    ]
    return "\n\n".join(parts) + "\n"


def _code(text: str) -> str:
    return f"```\n{text}\n```"


def _weights() -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in WEIGHTS.items())
