"""Implementation of `flybench show`: one sample's answer, or the list of samples."""

from __future__ import annotations

import sys
from pathlib import Path

from flybench.analysis.show.answer import MethodAnswer, list_samples, show_answer
from flybench.analysis.show.outcomes import one_line, use_colour
from flybench.config import BASELINE, BASELINES
from flybench.config.checks import suggestion
from flybench.core.errors import FlybenchError
from flybench.metrics.frames import methods_of, sample_frame
from flybench.records.cached import CachedFolder
from flybench.records.token_texts import vocabulary


def show(path: Path, sample: str | None, given: str | None) -> int:
    """Print the answer to `sample`, or the list of samples if it is None.

    Raises:
        FlybenchError: the run has no records, or no such method or sample.
    """
    folder = CachedFolder(path)
    if not folder.records():
        raise FlybenchError(
            f"{path} has no records yet: rerun its `flybench run` command to resume it."
        )
    method = _method(folder, given)
    if sample is None:
        samples = sample_frame(folder, method)
        print(list_samples(samples, sample_frame(folder, BASELINE)))
        print(f"\n{len(samples)} samples of {one_line(method)}:", end=" ")
        print(f"flybench show {one_line(str(path))} SAMPLE")
        return 0
    own = _answer(folder, sample, method)
    has_baseline = (sample, BASELINE) in folder.records() and method != BASELINE
    plain = _answer(folder, sample, BASELINE) if has_baseline else None
    print(show_answer(own, plain, vocabulary(folder), use_colour(sys.stdout)))
    return 0


def _method(folder: CachedFolder, given: str | None) -> str:
    known = methods_of(folder)
    if given is None:
        return next((name for name in reversed(known) if name not in BASELINES), known[0])
    if given not in known:
        raise FlybenchError(
            f"--method {given} is not in {folder.path}: it has {one_line(', '.join(known))}"
            f"{one_line(suggestion(given, known))}."
        )
    return given


def _answer(folder: CachedFolder, sample: str, method: str) -> MethodAnswer:
    records = folder.records()
    if (sample, method) not in records:
        known = sorted({name for name, own in records if own == method})
        raise FlybenchError(
            f"{sample!r} is not a sample of {one_line(method)} in {folder.path}"
            f"{one_line(suggestion(sample, known))}: `flybench show {folder.path}` lists "
            f"all {len(known)}."
        )
    return MethodAnswer(records[sample, method], folder.scores().get((sample, method)))
