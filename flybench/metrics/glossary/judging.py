"""The glossary's figures of a judging model."""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry

JUDGED: dict[str, Entry] = {
    "judge": Entry("judge", "", "The model that graded the answers, where no rule scores them."),
    "pairwise": Entry(
        "wins / ties / losses",
        "pairs",
        "Pairs in which the judge prefers the method's conversation / neither / AR's. It is asked "
        "in both orders, and a win or loss needs both to say so; equal texts are ties unasked. "
        "Pairs with an unreadable verdict are left out.",
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
        "orders disagree",
        "pairs",
        "Compared pairs whose two orders have different verdicts, so that they count as ties.",
        digits=0,
    ),
    "judge_asked": Entry(
        "judgements",
        "",
        "Different questions about a method's answers: a grade for each turn, and two comparisons "
        "with AR for each sample whose texts differ.",
        digits=0,
    ),
    "judge_unparseable": Entry(
        "unreadable verdicts",
        "",
        "Judgements that do not end in a verdict of the form asked for. They are left out and "
        "nothing is guessed: a sample with one among its grades has no grade.",
        digits=0,
    ),
    "judge_failed": Entry(
        "failed calls", "", "Judgements that the judge never gave; scoring again asks.", digits=0
    ),
    "judge_tokens_in": Entry(
        "tokens read by the judge", "tokens", "Over the judgements, as the judge counts.", digits=0
    ),
    "judge_tokens_out": Entry(
        "tokens written by the judge", "tokens", "Likewise, its reasons included.", digits=0
    ),
    "judge_cost": Entry(
        "cost of judging",
        "",
        "The judge's tokens at judge.input_price and judge.output_price, in their currency. A "
        "judgement shared by methods or runs counts in each; it was paid for once.",
        digits=4,
    ),
}
