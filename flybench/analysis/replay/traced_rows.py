"""A run's traces as flat arrays: every row of every round, with its position in the text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from flybench.core.errors import FlybenchError
from flybench.core.outcomes import ACCEPTED_OUTCOMES, Outcome
from flybench.core.samples import Record
from flybench.records.folder import RunFolder
from flybench.records.traces import read_traces

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats32 = NDArray[np.float32]
NOT_EMITTED = -1
NOT_REJECTED = {outcome.code for outcome in (Outcome.NOT_REACHED, *ACCEPTED_OUTCOMES)}


@dataclass(frozen=True)
class Rows:
    """Rows [R] of a run: one more per round than it has draft tokens, in the order of rounds.

    Positions in the text count over the concatenated ids of all answers.

    Attributes:
        match: whether the draft token is the target's argmax.
        drafted: whether the row has a draft token.
        round: index of the round, over all answers.
        position: index of the row in its round.
        text: position of the token that the row emitted; `NOT_EMITTED` if it emitted none.
        chosen: whether the emitted token was the target's argmax.
        answers: one row for each answer: sample, turn, and its `begin` and `end` in the text.
        corrected: positions right after a correction.
        token: the draft token.
        choice: the target's argmax.
        k: the maximum length of a draft.
        vocab_size: the size of the vocabulary.
    """

    match: Bools
    drafted: Bools
    entropy: Floats32
    top3_entropy: Floats32
    round: Ints
    position: Ints
    text: Ints
    chosen: Bools
    answers: pd.DataFrame
    corrected: Ints
    token: Ints
    choice: Ints
    k: int
    vocab_size: int


def read_rows(folder: RunFolder, method: str, k: int, samples: Collection[str] | None) -> Rows:
    """Read the rows of a run's method, of all its finished samples or of `samples`.

    Raises:
        FlybenchError: there is no finished sample, or a sample lacks its traces.
    """
    records = [
        record
        for record in folder.records().values()
        if record.method == method
        and record.error is None
        and (samples is None or record.sample_id in samples)
    ]
    if not records:
        raise FlybenchError(
            f"{folder.path} has no finished samples of method {method} to replay: resume it with "
            "the same `flybench run` command."
        )
    bar = tqdm(records, desc="traces", unit="sample", leave=False, disable=None)
    traces = [read_traces(folder, record) for record in bar]
    return make_rows(records, traces, k, int(folder.provenance()["vocab_size"]))


def make_rows(
    records: Iterable[Record], traces: Iterable[pd.DataFrame], k: int, vocab_size: int
) -> Rows:
    """Return the rows of records; `traces` are their frames, as from `read_traces`."""
    records = list(records)
    frame = pd.concat(
        [part[["position", "token", "choice", "entropy", "top3_entropy"]] for part in traces],
        ignore_index=True,
    )
    turns = [
        (record.sample_id, number, turn)
        for record in records
        for number, turn in enumerate(record.turns)
    ]
    lengths = np.array([len(turn.ids) for *_, turn in turns])
    ends = lengths.cumsum()
    answers = pd.DataFrame(
        {
            "sample_id": [sample for sample, *_ in turns],
            "turn": [number for _, number, _ in turns],
            "begin": ends - lengths,
            "end": ends,
        }
    )
    rounds = [round_ for *_, turn in turns for round_ in turn.rounds]
    sizes = np.array([round_.drafted + 1 for round_ in rounds])
    emitted = np.array([round_.emitted for round_ in rounds])
    starts = emitted.cumsum() - emitted
    number = np.repeat(np.arange(len(rounds)), sizes)
    position = frame["position"].to_numpy(np.int64)
    on_text = position < emitted[number]
    outcomes = "".join(round_.outcomes + Outcome.NOT_REACHED.code for round_ in rounds)
    loose = np.frombuffer(outcomes.encode(), dtype="S1") == Outcome.LOOSE.code.encode()
    rejected = np.array([_rejected(round_.outcomes) for round_ in rounds])
    first = np.isin(starts, answers["begin"])
    return Rows(
        match=(frame["token"] == frame["choice"]).to_numpy(),
        drafted=(frame["token"] >= 0).to_numpy(),
        entropy=frame["entropy"].to_numpy(),
        top3_entropy=frame["top3_entropy"].to_numpy(),
        round=number,
        position=position,
        text=np.where(on_text, starts[number] + position, NOT_EMITTED),
        chosen=on_text & ~loose,
        answers=answers,
        corrected=starts[1:][rejected[:-1] & ~first[1:]],
        token=frame["token"].to_numpy(np.int64),
        choice=frame["choice"].to_numpy(np.int64),
        k=k,
        vocab_size=vocab_size,
    )


def _rejected(outcomes: str) -> bool:
    """Return whether a round ended in a correction."""
    return any(code not in NOT_REJECTED for code in outcomes)
