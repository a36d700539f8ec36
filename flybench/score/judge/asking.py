"""Asks a judge what neither this run's folder nor the shared cache knows yet.

Every reply is on disk before the next one is waited for, so that a judging that was stopped goes on
where it was. What fails is marked, and asked again the next time.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from msgspec import structs
from tqdm import tqdm

from flybench.config import JudgeConfig
from flybench.core.judgements import Judgement
from flybench.records.folder import JUDGEMENTS, RunFolder
from flybench.score.judge.base import CallFailed, Judge, Reply
from flybench.score.judge.cache import remember, remembered
from flybench.score.judge.questions import Question
from flybench.score.judge.verdicts import read_verdict

log = logging.getLogger(__name__)

Groups = dict[str, list[Question]]
"""Questions by key; those of one key are one question."""


def ask_all(
    folder: RunFolder, asked: Iterable[Question], judge: Judge, config: JudgeConfig
) -> None:
    """Add a judgement for every question that has none, each key asked once.

    Raises:
        FlybenchError: there is something to ask, and the judge cannot be asked at all.
    """
    folder.repair(JUDGEMENTS)
    known = {key for key, judgement in folder.judgements().items() if not judgement.error}
    groups: Groups = defaultdict(list)
    for question in asked:
        if question.key not in known:
            groups[question.key].append(question)
    for key in list(groups):
        if before := remembered(key):
            _keep(folder, groups.pop(key), before, config)
    if not groups:
        return
    judge.check()
    judge.prepare([group[0].messages for group in groups.values()])
    failures: list[str] = []
    with tqdm(total=len(groups), desc="judge", unit="verdict", disable=None) as bar:
        for key, reply in _replies(groups, judge, config):
            if isinstance(reply, Reply):
                remember(key, reply)
            else:
                failures.append(str(reply))
            _keep(folder, groups[key], reply, config)
            bar.update()
    if failures:
        log.warning(
            "%d of %d calls of the judge failed, the first with: %s; `flybench score %s` tries "
            "them again.",
            len(failures),
            len(groups),
            failures[0],
            folder.path,
        )


def _replies(
    groups: Groups, judge: Judge, config: JudgeConfig
) -> Iterator[tuple[str, Reply | CallFailed]]:
    """Replies as they come; stopped, it waits for the calls under way and begins no other."""

    def call(question: Question) -> Reply | CallFailed:
        try:
            return judge.ask(question.messages)
        except CallFailed as failure:
            return failure

    workers = config.concurrency if config.kind == "openai" else 1
    pool = ThreadPoolExecutor(workers)
    try:
        calls: dict[Future[Reply | CallFailed], str] = {
            pool.submit(call, group[0]): key for key, group in groups.items()
        }
        for done in as_completed(calls):
            yield calls[done], done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _keep(
    folder: RunFolder, group: Sequence[Question], reply: Reply | CallFailed, config: JudgeConfig
) -> None:
    for question in group:
        blank = Judgement(
            key=question.key,
            judge=str(config.model),
            sample_id=question.sample_id,
            method=question.method,
            kind=question.kind,
            turn=question.turn,
            order=question.order,
        )
        if isinstance(reply, CallFailed):
            folder.append(structs.replace(blank, error=str(reply)))
            continue
        verdict = read_verdict(question.kind, reply)
        cost = config.cost(reply.tokens_in, reply.tokens_out)
        folder.append(structs.replace(blank, verdict=verdict, cost=cost, **reply._asdict()))
