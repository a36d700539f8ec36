"""Send a judge every question that has no verdict in the run's folder and no cached reply.

Each reply is written before the next one is awaited, so judging can be resumed. Failed questions
are recorded as failed and retried next time. Replies are cached by the hash of the question
and the judge, one file each in the folder `judgements` of flybench's cache, because AR's answers
are the same in every run of a sweep. Remove that folder to ask all questions again.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from msgspec import structs
from tqdm import tqdm

from flybench.config import JudgeConfig
from flybench.core.files import write_atomically
from flybench.core.judgements import Judgement
from flybench.engine.loading.cache import cache_root
from flybench.records.folder import JUDGEMENTS, RunFolder
from flybench.score.judge.base import CallFailed, Judge, Reply, checked
from flybench.score.judge.prompts import read_verdict
from flybench.score.judge.questions import Question

log = logging.getLogger(__name__)

QuestionGroups = dict[str, list[Question]]
"""Questions by key; equal keys mean equal questions."""


def ask_all(
    folder: RunFolder, wanted: Iterable[Question], judge: Judge, config: JudgeConfig
) -> None:
    """Append a judgement for every question without one; each key is asked once.

    Raises:
        FlybenchError: a question is to be asked and the judge is not available.
    """
    folder.repair(JUDGEMENTS)
    known = {key for key, judgement in folder.judgements().items() if not judgement.error}
    groups: QuestionGroups = defaultdict(list)
    for question in wanted:
        if question.key not in known:
            groups[question.key].append(question)
    for key in list(groups):
        if cached := cached_reply(key):
            _append(folder, groups.pop(key), cached, config)
    if not groups:
        return
    judge.check()
    judge.prepare([group[0].messages for group in groups.values()])
    failures: list[str] = []
    with tqdm(total=len(groups), desc="judge", unit="verdict", disable=None) as bar:
        for key, reply in _replies(groups, judge, config):
            if isinstance(reply, Reply):
                cache_reply(key, reply)
            else:
                failures.append(str(reply))
            _append(folder, groups[key], reply, config)
            bar.update()
    if failures:
        log.warning(
            "%d of %d judge calls failed, the first with: %s; run `flybench score %s` to retry "
            "them.",
            len(failures),
            len(groups),
            failures[0],
            folder.path,
        )


def _replies(
    groups: QuestionGroups, judge: Judge, config: JudgeConfig
) -> Iterator[tuple[str, Reply | CallFailed]]:
    """Yield replies as they arrive; closing waits for running calls and cancels the others."""

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


def _append(
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


def cached_reply(key: str) -> Reply | None:
    """Return the cached reply to a question; None if there is no readable one."""
    try:
        return checked(Reply(**json.loads(_cache_file(key).read_text(encoding="utf-8"))))
    except (OSError, ValueError, TypeError):
        return None


def cache_reply(key: str, reply: Reply) -> None:
    """Cache a reply for later runs."""
    write_atomically(_cache_file(key), json.dumps(reply._asdict()))


def _cache_file(key: str) -> Path:
    return cache_root() / "judgements" / key[:2] / f"{key}.json"
