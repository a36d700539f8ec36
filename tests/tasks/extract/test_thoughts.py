"""Answers of reasoning models, whose thoughts no scorer reads."""

import pytest

from flybench.tasks.extract.thoughts import without_thought


@pytest.mark.parametrize(
    ("text", "prefix", "answer"),
    [
        ("It is 18.", "", "It is 18."),
        ("<think>9 x 2</think>It is 18.", "", "It is 18."),
        ("<think>\nFirst 9 eggs, that may be 18", "", ""),
        ("9 x 2</think>It is 18.", "<think>\n", "It is 18."),
        ("9 x 2, that may be 18", "<think>\n", ""),
        ("9 x 2</think>It is 18.", "", "It is 18."),
        ("It is 18.", "<think>\n\n</think>\n", "It is 18."),
        ("It is 18.", "Sure: ", "It is 18."),
        ("<think>9</think><think>2</think>18", "", "18"),
        ("Well. <think>9 x", "", ""),
        ("<Thinking>9</Thinking>18", "", "18"),
        ("a < think > b", "", "a < think > b"),
    ],
)
def test_only_what_follows_the_thought_counts(text: str, prefix: str, answer: str) -> None:
    assert without_thought(text, prefix) == answer
