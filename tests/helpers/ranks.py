"""Two ranks without torchrun: forked off this process, they need not import everything again."""

from __future__ import annotations

import multiprocessing
import os
import socket
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection

import torch

from flybench.distributed import join


def _be(rank: int, port: int, work: Callable[[], None], parent: Connection) -> None:
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_PORT": port}
    os.environ |= {name: str(number) for name, number in numbers.items()}
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    torch.set_num_threads(1)  # the threads of a fork's parent are not there
    try:
        join(torch.device("cpu"))
        work()
        parent.send("")
    except BaseException:
        parent.send(traceback.format_exc())


def in_two_ranks(work: Callable[[], None], patience_s: float = 300) -> None:
    """Run `work` in both; a failure in one is the caller's."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fork = multiprocessing.get_context("fork")
    ends = [fork.Pipe(duplex=False) for _ in range(2)]
    ranks = [
        fork.Process(target=_be, args=(rank, port, work, end), daemon=True)
        for rank, (_, end) in enumerate(ends)
    ]
    for process in ranks:
        process.start()
    try:
        for receiver, _ in ends:
            assert receiver.poll(patience_s), "a rank says nothing"
            failure = receiver.recv()
            assert not failure, failure
        for process in ranks:
            process.join(timeout=5)
    finally:
        for process in ranks:
            process.kill()
            process.join()
