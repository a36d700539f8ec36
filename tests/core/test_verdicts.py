"""Verdicts of rules, which may be a user's: what contradicts itself is refused, not recorded."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from flybench.core.drafts import Draft, TargetView
from flybench.core.errors import FlybenchError
from flybench.core.outcomes import Outcome
from flybench.core.verdicts import Verdict

DRAFT = Draft.chain(torch.tensor([1, 2, 3]))
VIEW = TargetView.of(torch.randn(4, 9, generator=torch.Generator().manual_seed(0)))
EXACT, GATE = int(Outcome.EXACT), int(Outcome.GATE)


def verdict(**changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "accepted": torch.tensor(2),
        "path": torch.arange(3),
        "next_token": torch.tensor(5),
        "outcomes": torch.tensor([EXACT, EXACT, GATE]),
    }
    return Verdict(**fields | changes)


def test_a_consistent_verdict_is_fetched() -> None:
    decision = verdict().fetch(DRAFT, VIEW)
    assert (decision.tokens, decision.outcomes) == ([1, 2, 5], "eeg")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"accepted": torch.tensor(-2)}, "accepted -2 of 3"),
        ({"accepted": torch.tensor(4)}, "accepted 4 of 3"),
        ({"path": torch.tensor([0, 7, 2])}, r"positions \[0, 7\]"),
        ({"outcomes": torch.tensor([EXACT, GATE, GATE])}, "contradict"),
        ({"outcomes": torch.tensor([EXACT, EXACT, 9])}, "contradict"),
        ({"outcomes": torch.tensor([0.5, 0.5, 0.5])}, "contradict"),
        ({"outcomes": torch.tensor([EXACT, EXACT])}, r"shape \[2\] for 3 draft tokens"),
    ],
)
def test_a_verdict_that_contradicts_itself_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(FlybenchError, match=said):
        verdict(**changes).fetch(DRAFT, VIEW)
