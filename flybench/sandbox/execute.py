"""Run untrusted Python programs, such as a model's answers with their tests.

Each program runs in a fresh interpreter with the layers that this machine supports: namespaces and
an unprivileged user (`unshare` and `setpriv` of util-linux), Landlock for files and signals, and
`setrlimit`. `guards()` reports the active ones.

It does not protect against kernel bugs, AF_VSOCK sockets, the sum of memory over processes (the
limit is per process), or a program that fakes a pass by searching its own interpreter for
the sentinel. Without root, a program may also change the modes and times of your files on mounts
other than `/`.

Example:

    python -c "from flybench.sandbox.execute import *; print(guards(), run_program('assert 1 > 2'))"
"""

import contextlib
import functools
import inspect
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, cast

from flybench.core.errors import FlybenchError
from flybench.sandbox import bootstrap as sandbox_bootstrap

Reason = Literal["passed", "failed", "timeout", "memory", "killed", "exited early"]

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
ENVIRONMENT |= {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
BOOTSTRAP = inspect.getsource(sandbox_bootstrap) + "\ninside()"
PYTHON = [sys.executable, "-s", "-P", "-B", "-u"]  # -I would ignore PYTHONHASHSEED

NAMESPACES = {"pid": ["--pid", "--fork", "--kill-child"], "net": ["--net", "--ipc"]}
NAMESPACES |= {"mount": ["--mount", "--mount-proc"]}
NO_INTERPRETER = (126, 127)  # a shell's exit status where a command cannot be run

LAYERS = ("die with parent", *NAMESPACES, "user", "user who may read all")  # in order of trial

# Hides the sockets of services in /run; a read-only root stops what Landlock misses (chmod, utime).
MOUNTS = """mount -t tmpfs -o ro tmpfs /run 2>/dev/null; mount -o remount,bind,ro / 2>/dev/null
mount -t tmpfs -o "size=$1,nr_inodes=10k,mode=777" tmpfs "$0" && cd "$0" || exit
"""
RUN = 'shift; "$@"; exit $?'  # no exec: the shell stays process 1, out of the program's reach

VIOLATIONS = {  # guards() runs these in the sandbox; a guard is active if its violation fails
    "pid_namespace": "assert os.readlink('/proc/self/ns/pid') == space",
    "private_tmp": "assert os.stat('.').st_dev == os.stat('..').st_dev",
    "network_off": "socket.socket(type=socket.SOCK_DGRAM).connect(('127.0.0.1', 9))",
    "write_outside_denied": "open(outside + '/file', 'w')",
    "read_outside_denied": "open(outside + '/secret')",
    "parent_environ_hidden": "open(proc + 'environ'); assert os.readlink(proc + 'ns/pid') == space",
    "signals_confined": "os.kill(pid, 0); assert os.readlink('/proc/self/ns/pid') == space",
    "memory_limit": "bytearray(1 << 29)",
    "process_limit": "for _ in range(16): os.fork() or (time.sleep(5), os._exit(0))",
}


@dataclass(frozen=True)
class Limits:
    """Limits of one program; times in seconds, sizes in bytes."""

    wall_s: float = 10.0
    cpu_s: int = 10  # per process
    memory_bytes: int = 1 << 30  # address space, per process
    file_bytes: int = 1 << 20  # per file, including the output
    disk_bytes: int = 1 << 24  # total of the working directory, if it is private
    processes: int = 32  # including threads
    output_bytes: int = 4000  # the end of the output that `ProgramResult.detail` keeps


@dataclass(frozen=True)
class ProgramResult:
    """Result of a program; `detail` is the end of its output, then the reason if it failed."""

    passed: bool
    reason: Reason
    detail: str
    seconds: float


DEFAULT_LIMITS = Limits()


def run_program(program: str, limits: Limits = DEFAULT_LIMITS) -> ProgramResult:
    """Run Python source as `__main__`; it passes if it reaches its end without an exception.

    Safe to call from several threads. The program has no shared memory, so `multiprocessing` mostly
    fails.

    Raises:
        FlybenchError: the sandbox could not start.
    """
    return _attempt(program, limits, _layers())


@functools.cache
def guards() -> dict[str, bool]:
    """Return which guards are active, by running a program that attempts each violation."""
    with tempfile.TemporaryDirectory() as outside:
        Path(outside).chmod(0o777)
        Path(outside, "secret").touch()
        program = f"""import json, os, socket, time
outside, pid, space = {outside!r}, {os.getpid()}, {os.readlink("/proc/self/ns/pid")!r}
proc, active = f"/proc/{{pid}}/", dict.fromkeys({list(VIOLATIONS)}, False)
for guard, violation in {VIOLATIONS}.items():
    try:
        exec(violation)
    except (OSError, MemoryError, AssertionError):
        active[guard] = True
print(json.dumps(active))"""
        result = run_program(program, Limits(memory_bytes=1 << 28, processes=8))
    if not result.passed:
        raise FlybenchError(
            f"the sandbox self-test did not finish ({result.detail}): run `flybench doctor` again "
            "on an idle machine."
        )
    return cast(dict[str, bool], json.loads(result.detail))


@functools.cache
def _layers() -> frozenset[str]:
    """Find the layers that work on this machine, by adding one at a time."""
    # An interpreter that cannot read its own directory may silently load another one's library.
    trial = f"import sys; assert (sys.prefix, sys.base_prefix) == {(sys.prefix, sys.base_prefix)}"
    kept: frozenset[str] = frozenset()
    if not (bare := _attempt(trial, DEFAULT_LIMITS, kept)).passed:
        raise FlybenchError(
            f"{sys.executable} does not start correctly ({bare.detail}): check the installation "
            "of Python."
        )
    for layer in LAYERS:
        if layer == LAYERS[-1] and "user" in kept:
            break  # the last layer is only for an interpreter in a directory closed to others
        with contextlib.suppress(FlybenchError):
            if _attempt(trial, DEFAULT_LIMITS, kept | {layer}).passed:
                kept |= {layer}
    return kept


def _command(layers: frozenset[str], cwd: str, user: int, limits: Limits) -> list[str]:
    """Build the command line that enters the layers and then starts the interpreter."""
    root = os.geteuid() == 0
    command = ["setpriv", "--pdeathsig=KILL"] if "die with parent" in layers else []
    if spaces := [flag for name, flags in NAMESPACES.items() if name in layers for flag in flags]:
        command += ["unshare", *spaces] if root else ["unshare", "--map-root-user", *spaces]
        script = MOUNTS + RUN if "mount" in layers else RUN
        command += ["sh", "-c", script, cwd, str(limits.disk_bytes)]
    if user or (spaces and not root):  # root of a user namespace has rights to drop too
        rights = "-all,+dac_read_search" if LAYERS[-1] in layers else "-all"
        sets = ("inh-caps", "ambient-caps", "bounding-set")
        command += ["setpriv", *(f"--{name}={rights}" for name in sets)]
        command += [f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    return [*command, *PYTHON, "-c", BOOTSTRAP]


def _attempt(program: str, limits: Limits, layers: frozenset[str]) -> ProgramResult:
    """Run the program behind the given layers and return its result."""
    sentinel = secrets.token_hex(16)
    # A user per run (from systemd's range for passing users), as RLIMIT_NPROC counts per user.
    user = 61184 + secrets.randbelow(4336) if layers & set(LAYERS[-2:]) else 0
    rlimits = {"CPU": limits.cpu_s, "AS": limits.memory_bytes, "FSIZE": limits.file_bytes}
    rlimits |= {"NPROC": limits.processes, "CORE": 0}
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    file = tempfile.TemporaryFile
    with folder as cwd, file() as job, file() as output, file() as report:
        job.write(json.dumps([program, sentinel, report.fileno(), rlimits]).encode())
        job.seek(0)
        start = time.monotonic()
        try:
            if user:
                os.chown(cwd, user, user)
            process = subprocess.Popen(
                _command(layers, cwd, user, limits),
                stdin=job,
                stdout=output,
                stderr=output,
                pass_fds=[report.fileno()],
                cwd=cwd,
                env=ENVIRONMENT | {"HOME": cwd, "TMPDIR": cwd},
                start_new_session=True,
            )
        except OSError as error:
            raise FlybenchError(
                f"the sandbox could not start a process ({error}): check the limits of this user."
            ) from error
        status, cpu_s = _wait(process, limits.wall_s)
        seconds = time.monotonic() - start
        marks = _tail(report, limits.file_bytes).split(sentinel)[1:]
        printed = _tail(output, limits.output_bytes)
    reason, note = _judge(marks, status, cpu_s >= 0.9 * limits.cpu_s, seconds >= limits.wall_s)
    detail = (printed + note)[-limits.output_bytes :]
    if reason is None and (limits != DEFAULT_LIMITS or status in NO_INTERPRETER):
        raise FlybenchError(f"the sandbox did not start ({detail}): raise its limits.")
    # The interpreter and the limits are known to work, so the program itself erased its report.
    reason = reason or "killed"
    return ProgramResult(reason == "passed", reason, detail, seconds)


def _wait(process: subprocess.Popen[bytes], wall_s: float) -> tuple[int, float]:
    """Wait, kill the process group at the end; return exit status and CPU seconds."""
    killer = threading.Timer(wall_s, os.killpg, (process.pid, signal.SIGKILL))
    killer.start()
    try:  # WNOWAIT leaves a zombie, so the id of the group is not reused before wait4
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    finally:
        killer.cancel()
        killer.join()
        os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def _tail(file: IO[bytes], size: int) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - size))
    return file.read().decode(errors="replace")


def _judge(
    marks: list[str], status: int, cpu_spent: bool, time_over: bool
) -> tuple[Reason | None, str]:
    """Return the reason and a note, from the two marks in the interpreter's report.

    The reason is None without the first mark, because the program never started.
    """
    number = max(-status, status - 128)  # of a signal; the shell reports one as 128 and more
    if len(marks) == 2:
        reason, _, note = marks[1].partition("\n")
        return cast(Reason, reason), note
    if time_over or (number == signal.SIGKILL and cpu_spent):
        return "timeout", "stopped at the limit of " + ("wall time" if time_over else "CPU time")
    if number > 0:
        return "killed" if marks else None, f"killed by signal {number}"
    return "exited early" if marks else None, f"exited early with status {status}"
