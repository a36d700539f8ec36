"""Glossary entries on judge models."""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry

JUDGED: dict[str, Entry] = {
    "judge": Entry("judge", "", "Model that graded the answers of a task without a scoring rule."),
    "pairwise": Entry(
        "wins / ties / losses",
        "pairs",
        "Pairs in which the judge prefers the method's conversation / neither / AR's. The judge "
        "sees both orders, and a win or loss requires the same verdict in both. Equal texts are "
        "ties without a call. Pairs with an unreadable verdict are excluded.",
        digits=0,
    ),
    "win_rate": Entry(
        "win rate against AR",
        "%",
        "(Wins + half of the ties) / compared pairs; 50 % is as good as AR.",
        100,
        1,
    ),
    "win_rate_ci": Entry(
        "win rate, interval", "%", "Bootstrap with one win and one loss added.", 100, 1
    ),
    "judge_inconsistent": Entry(
        "order-dependent",
        "pairs",
        "Compared pairs with different verdicts in the two orders; they count as ties.",
        digits=0,
    ),
    "judge_asked": Entry(
        "judgements",
        "",
        "Distinct judge requests on a method's answers: one grade per turn, and two comparisons "
        "with AR per sample whose texts differ.",
        digits=0,
    ),
    "judge_unparseable": Entry(
        "unreadable verdicts",
        "",
        "Judgements without a verdict in the requested format. They are excluded, never guessed; a "
        "sample with an unreadable grade has no grade.",
        digits=0,
    ),
    "judge_failed": Entry(
        "failed calls", "", "Judge calls that failed; scoring again retries them.", digits=0
    ),
    "judge_tokens_in": Entry(
        "tokens read by the judge", "tokens", "Input tokens as the judge counts them.", digits=0
    ),
    "judge_tokens_out": Entry(
        "tokens written by the judge", "tokens", "Output tokens, including reasoning.", digits=0
    ),
    "judge_cost": Entry(
        "cost of judging",
        "",
        "The judge's tokens at judge.input_price and judge.output_price, in their currency. A "
        "judgement shared by methods or runs counts in each, although it is billed only once.",
        digits=4,
    ),
}
