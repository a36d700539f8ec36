"""Every figure that a summary or report shows: its label, unit and formula, and how to print it.

Letters: N = emitted tokens kept after truncation (an end-of-sequence id included), R = rounds of
the target, D = drafted tokens, A = drafted tokens accepted and kept; `_ar` marks AR's own; sums
run over samples. Every interval is a 95 % bootstrap over samples.
"""

from __future__ import annotations

from flybench.core.outcomes import Outcome
from flybench.metrics.glossary.acceptance import ACCEPTANCE
from flybench.metrics.glossary.accuracy import ACCURACY
from flybench.metrics.glossary.costs import COSTS
from flybench.metrics.glossary.entry import Entry as Entry
from flybench.metrics.glossary.judging import JUDGED
from flybench.metrics.glossary.speed import SPEED

FATES: dict[Outcome, str] = {
    Outcome.EXACT: "accepted: equals the target's own choice",
    Outcome.LOOSE: "accepted: differs from the target's choice, and a loose rule kept it",
    Outcome.SAMPLED: "accepted: kept by rejection sampling",
    Outcome.GATE: "rejected: the target is sure here",
    Outcome.WINDOW: "rejected: the target disagrees again within the window",
    Outcome.TAIL: "rejected: the window does not fit in the draft",
    Outcome.REJECTED: "rejected: by a rule that gives no reason",
    Outcome.NOT_REACHED: "never judged: after the first rejection, or on a branch not taken",
}
GLOSSARY: dict[str, Entry] = ACCURACY | SPEED | ACCEPTANCE | COSTS | JUDGED
GLOSSARY |= {
    f"fate_{outcome.name.lower()}": Entry(
        outcome.name.lower(), "drafted tokens", f"{text}.", digits=0
    )
    for outcome, text in FATES.items()
}
