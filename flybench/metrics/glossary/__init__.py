"""Glossary of all metrics in summaries and reports: label, unit, formula and number format.

Symbols: N = emitted tokens kept after truncation (including the end-of-sequence id), R =
verification rounds, D = draft tokens, A = draft tokens accepted and kept; `_ar` marks AR's values;
sums run over samples. Intervals are 95 % bootstraps over samples.
"""

from __future__ import annotations

from flybench.core.outcomes import Outcome
from flybench.metrics.glossary.acceptance import ACCEPTANCE
from flybench.metrics.glossary.accuracy import ACCURACY
from flybench.metrics.glossary.costs import COSTS
from flybench.metrics.glossary.entry import Entry as Entry
from flybench.metrics.glossary.judging import JUDGED
from flybench.metrics.glossary.speed import SPEED

OUTCOMES: dict[Outcome, str] = {
    Outcome.EXACT: "accepted: equals the target's argmax",
    Outcome.LOOSE: "accepted by a loose rule: differs from the target's argmax",
    Outcome.SAMPLED: "accepted by rejection sampling",
    Outcome.GATE: "rejected: the target is certain at this position",
    Outcome.WINDOW: "rejected: another mismatch within the window",
    Outcome.TAIL: "rejected: the window extends past the end of the draft",
    Outcome.REJECTED: "rejected by a rule that records no reason",
    Outcome.NOT_REACHED: "not verified: after the first rejection or on a branch not taken",
}
GLOSSARY: dict[str, Entry] = ACCURACY | SPEED | ACCEPTANCE | COSTS | JUDGED
GLOSSARY |= {
    f"fate_{outcome.name.lower()}": Entry(
        outcome.name.lower(), "draft tokens", f"{text}.", digits=0
    )
    for outcome, text in OUTCOMES.items()
}
