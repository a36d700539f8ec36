"""Hostile programs, one property each: what the sandbox must refuse, contain or survive."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from flybench.core.errors import FlybenchError
from flybench.sandbox import execute as sandbox
from flybench.sandbox.execute import Limits, guards, run_program

SHORT = Limits(wall_s=1.0)
ROOT = Path(__file__).resolve().parents[2]


def needs(guard: str) -> None:
    """Skip where this machine does not allow the guard."""
    if not guards()[guard]:
        pytest.skip(f"the guard {guard} is not in force here")


def alive(name: str, grace_s: float = 2.0) -> list[str]:
    """Processes that bear the name, after some grace for dying."""
    end = time.monotonic() + grace_s
    while True:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
                if (process / "comm").read_text().strip() == name and fields[0] != "Z":
                    found.append(process.name)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def test_a_wiped_report_is_no_pass_and_no_crash() -> None:
    program = """import os
for fd in range(3, 64):
    try: os.ftruncate(fd, 0)
    except OSError: pass
os._exit(0)"""
    assert run_program(program).reason in ("killed", "exited early")


@pytest.fixture
def name() -> str:
    return "fb" + secrets.token_hex(6)


def named(name: str, program: str) -> str:
    """Let the program's processes bear a name, by which `alive` finds them from outside."""
    return f"import ctypes, os, time\nctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)\n{program}"


def test_program_that_ends_passes() -> None:
    result = run_program("print('hello')\nassert __name__ == '__main__'")
    assert (result.passed, result.reason, result.detail) == (True, "passed", "hello\n")
    assert 0 < result.seconds < 5


def test_modules_that_look_up_main_work() -> None:
    program = "import pickle\nclass A: pass\nassert type(pickle.loads(pickle.dumps(A()))) is A"
    assert run_program(program).passed


def test_failed_assertion_fails_with_its_line() -> None:
    result = run_program("x = 1\nassert x == 2, 'x is odd'")
    assert (result.passed, result.reason) == (False, "failed")
    assert "assert x == 2" in result.detail
    assert result.detail.endswith("AssertionError: x is odd")


def test_syntax_error_fails() -> None:
    result = run_program("def f(:\n  pass")
    assert result.reason == "failed"
    assert "SyntaxError" in result.detail.splitlines()[-1]


@pytest.mark.parametrize("program", ["x = '\\ud800'\nraise ValueError(x)", "\ud800", "\0"])
def test_text_that_is_no_unicode_fails(program: str) -> None:
    assert run_program(program).reason == "failed"


def test_sleeper_is_stopped_at_the_wall_limit() -> None:
    result = run_program("import time\nwhile True: time.sleep(1)", SHORT)
    assert result.reason == "timeout"
    assert result.seconds < 3


def test_program_that_ignores_signals_and_errors_is_stopped() -> None:
    program = """import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass"""
    assert run_program(program, SHORT).reason == "timeout"


def test_burner_is_stopped_at_the_cpu_limit() -> None:
    result = run_program("while True: pass", Limits(wall_s=20, cpu_s=1))
    assert result.reason == "timeout"
    assert "CPU" in result.detail
    assert result.seconds < 15


@pytest.mark.parametrize("item", ["bytearray(1 << 20)", "str(len(hoard))"])
def test_memory_hog_is_refused_memory(item: str) -> None:
    needs("memory_limit")
    program = f"hoard = []\nwhile True: hoard.append({item})"
    assert run_program(program, Limits(memory_bytes=1 << 27)).reason == "memory"


def test_limits_cannot_be_raised() -> None:
    program = """import resource
for kind in resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CPU:
    try: resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError: continue
    raise SystemExit"""
    needs("process_limit")  # implies a user without rights
    assert run_program(program).passed


def test_crash_is_reported_as_killed() -> None:
    result = run_program("import ctypes\nctypes.string_at(0)")
    assert result.reason == "killed"
    assert result.detail.endswith("signal 11")


@pytest.mark.parametrize(
    "program",
    [
        "while True: print('x' * 10000)",
        "import os\nwhile True: os.write(2, b'x' * 10000)",
        "import os\nos.execvp('yes', ['yes'])",
        "while True:\n    try: print('x' * 10000)\n    except OSError: pass",
    ],
)
def test_endless_output_is_cut(program: str) -> None:
    result = run_program(program, replace(SHORT, output_bytes=500))
    assert not result.passed
    assert len(result.detail) <= 500
    assert result.seconds < 5


def test_long_exception_is_cut() -> None:
    result = run_program("raise ValueError('x' * 10_000_000)")
    assert result.reason == "failed"
    assert len(result.detail) == Limits().output_bytes


def test_fork_bomb_is_contained(name: str) -> None:
    needs("process_limit")
    needs("pid_namespace")
    program = named(name, "while True:\n    try: os.fork()\n    except OSError: pass")
    result = run_program(program, SHORT)
    assert result.reason == "timeout"
    assert result.seconds < 5
    assert not alive(name)


ORPHAN = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # the parent's death shall not matter
        while True: time.sleep(1)
    os._exit(0)
os.wait()
"""


def test_orphan_does_not_outlive_a_program_that_passed(name: str) -> None:
    needs("pid_namespace")
    assert run_program(named(name, ORPHAN)).passed
    assert not alive(name)


def test_orphan_does_not_outlive_a_program_that_was_stopped(name: str) -> None:
    needs("pid_namespace")
    assert run_program(named(name, ORPHAN + "time.sleep(99)"), SHORT).reason == "timeout"
    assert not alive(name)


def test_program_that_leaves_its_session_is_stopped(name: str) -> None:
    needs("pid_namespace")
    program = "os.setsid()\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\ntime.sleep(99)"
    assert run_program(named(name, program), SHORT).reason == "timeout"
    assert not alive(name)


def start_harness(program: str, **environment: str) -> subprocess.Popen[str]:
    """Start another process that runs the program in the sandbox and prints the outcome."""
    code = f"from flybench.sandbox.execute import run_program\nprint(run_program({program!r}))"
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_nothing_outlives_a_killed_harness(name: str) -> None:
    if not {"die with parent", "pid"} <= sandbox._layers():
        pytest.skip("this machine lacks setpriv --pdeathsig or PID namespaces")
    program = named(name, ORPHAN + "while True: time.sleep(1)")
    with tempfile.TemporaryDirectory() as litter:  # what the harness cannot tidy up any more
        Path(litter).chmod(0o755)
        with start_harness(program, TMPDIR=litter) as harness:
            while not alive(name, grace_s=0):
                assert harness.poll() is None
            harness.kill()
    assert not alive(name)


def test_environment_is_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    program = """import os
assert os.environ["PYTHONHASHSEED"] == "0"
assert hash("a") == SEEDED
assert set(os.environ) <= {"PATH", "LANG", "HOME", "TMPDIR", "PYTHONHASHSEED", "OMP_NUM_THREADS",
                           "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}, os.environ"""
    hashing = [sys.executable, "-c", "print(hash('a'))"]
    seeded = subprocess.run(hashing, env={"PYTHONHASHSEED": "0"}, capture_output=True, text=True)
    result = run_program(program.replace("SEEDED", seeded.stdout.strip()))
    assert result.passed, result.detail


def test_environments_of_other_processes_are_hidden() -> None:
    needs("parent_environ_hidden")
    program = """import glob, os
for path in [f"/proc/{os.getppid()}/environ", *glob.glob("/proc/*/environ")]:
    try: found = open(path, "rb").read()
    except OSError: continue
    assert b"API_TOKEN" not in found, path"""
    with start_harness(program, API_TOKEN="secret") as harness:
        assert "passed=True" in harness.communicate()[0]


def test_writing_outside_is_denied(tmp_path: Path) -> None:
    needs("write_outside_denied")
    tmp_path.chmod(0o777)
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "mine").chmod(0o666)
    name = secrets.token_hex(8)
    places = [tmp_path, Path.home(), Path.cwd(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    program = f"""import os
misdeeds = [lambda p=p: open(p, "w") for p in {[str(place / name) for place in places]}]
mine = {str(tmp_path / "mine")!r}
misdeeds += [lambda: open(mine, "a"), lambda: os.truncate(mine, 0), lambda: os.remove(mine),
             lambda: os.rename(mine, "stolen"), lambda: os.symlink("x", mine + "2"),
             lambda: open("/proc/self/cwd/../{name}", "w")]
os.symlink(mine, "link")
misdeeds += [lambda: open("link", "w")]
for number, misdeed in enumerate(misdeeds):
    try: misdeed()
    except OSError: continue
    raise AssertionError(number)"""
    result = run_program(program)
    assert result.passed, result.detail
    assert (tmp_path / "mine").read_text() == "mine"
    assert not [place for place in places if (place / name).exists()]


def test_files_of_the_user_cannot_be_read(tmp_path: Path) -> None:
    needs("read_outside_denied")
    (tmp_path / "key").write_text("secret")
    for path in filter(os.path.exists, [tmp_path / "key", Path(__file__), Path("/etc/shadow")]):
        assert "PermissionError" in run_program(f"open({str(path)!r}).read()").detail


def test_working_directory_can_be_used() -> None:
    program = """import os, pathlib, subprocess, tempfile
os.makedirs("a/b")
pathlib.Path("a/b/c").write_text("text")
os.rename("a/b/c", "a/d")
assert tempfile.gettempdir() == os.getcwd() == os.path.expanduser("~")
subprocess.run(["cat", "a/d"], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)"""
    result = run_program(program)
    assert (result.passed, result.detail) == (True, "text")


def test_working_directory_is_removed() -> None:
    program = """import os
os.makedirs("a/b")
open("a/b/c", "w").close()
os.chmod("a", 0)
print(os.getcwd())"""
    result = run_program(program)
    assert result.passed, result.detail
    assert not Path(result.detail.strip()).exists()


def test_huge_file_is_refused() -> None:
    result = run_program("open('big', 'wb').write(bytes(1 << 22))")
    assert result.detail.endswith("OSError: [Errno 27] File too large")


def test_many_files_do_not_fill_the_disk() -> None:
    needs("private_tmp")
    program = "for i in range(99): open(f'f{i}', 'wb').write(bytes(1 << 19))"
    result = run_program(program, Limits(disk_bytes=1 << 22))
    assert "No space left on device" in result.detail


def test_network_is_off() -> None:
    needs("network_off")
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = f"""import socket
address = ("127.0.0.1", {server.getsockname()[1]})
for attempt in (lambda: socket.create_connection(address, 2),
                lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", address)):
    try: attempt()
    except PermissionError: continue
    except OSError as error: assert "unreachable" in str(error), error
    else: raise AssertionError"""
        result = run_program(program)
        assert result.passed, result.detail
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()


def test_processes_outside_cannot_be_signalled() -> None:
    needs("signals_confined")
    with subprocess.Popen(["sleep", "60"]) as bystander:
        program = f"""import os, signal
for pid in ({bystander.pid}, {os.getpid()}):
    try: os.kill(pid, signal.SIGTERM)
    except OSError: continue"""
        run_program(program)
        time.sleep(0.1)
        assert bystander.poll() is None
        bystander.kill()


def test_namespaces_cannot_be_undone() -> None:
    needs("private_tmp")
    for command in ("umount /proc", "unshare -rm umount /proc", "mount -t tmpfs tmpfs ."):
        program = f"import subprocess\nassert subprocess.run({command.split()}).returncode"
        assert run_program(program).passed


@pytest.mark.parametrize(
    "program",
    [
        "exit(0)",
        "import sys; sys.exit()",
        "raise SystemExit",
        "import os; os._exit(0)",
        "import os; os.execvp('true', ['true'])",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import atexit, os; atexit.register(os._exit, 0); exit()",
        "print('passed')\nfor fd in range(3, 20):\n    try: __import__('os').write(fd, b'passed')\n"
        "    except OSError: pass\n__import__('os')._exit(0)",
    ],
)
def test_leaving_before_the_end_does_not_pass(program: str) -> None:
    result = run_program(program + "\nassert False")
    assert not result.passed
    assert result.reason in ("exited early", "killed")


def test_forked_child_that_comes_to_the_end_does_not_pass() -> None:
    fork = "import os\nif os.fork():\n    os.wait()\n    "
    assert run_program(fork + "os._exit(0)").reason == "exited early"
    assert run_program(fork + "assert False").reason == "failed"


def test_verdict_does_not_need_what_the_program_broke() -> None:
    broken = "import os, sys\nos._exit = os.write = sys.stdout = sys.stderr = print = None\n"
    assert run_program(broken + "os.close(1)").passed
    assert run_program(broken + "assert False").reason == "failed"


def test_stdin_is_closed() -> None:
    program = """import os, sys
assert sys.stdin.read() == "" and os.read(0, 1) == b""
try: input()
except EOFError: pass
else: raise AssertionError"""
    result = run_program(program)
    assert result.passed, result.detail


def test_threads_may_share_the_sandbox() -> None:
    programs = ["pass", "assert False", "exit()"] * 4
    before = threading.active_count()
    with ThreadPoolExecutor(4) as pool:
        reasons = [result.reason for result in pool.map(run_program, programs)]
    assert reasons == ["passed", "failed", "exited early"] * 4
    assert threading.active_count() == before


def test_sandbox_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FlybenchError, match="raise its limits"):
        run_program("pass", Limits(file_bytes=0))
    monkeypatch.setattr(sandbox, "PYTHON", ["/nonexistent/python"])
    with pytest.raises(FlybenchError):
        run_program("pass")
    sandbox._layers.cache_clear()
    with pytest.raises(FlybenchError, match="could not start a process"):
        run_program("pass")
    sandbox._layers.cache_clear()


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Reduce the system's tools to the named ones, for a machine that lacks the others."""

    def reduce(*names: str) -> None:
        for tool in names:
            if found := shutil.which(tool):
                (tmp_path / tool).symlink_to(found)
        monkeypatch.setitem(sandbox.ENVIRONMENT, "PATH", str(tmp_path))
        sandbox._layers.cache_clear()
        guards.cache_clear()

    yield reduce
    sandbox._layers.cache_clear()
    guards.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("names", [("setpriv", "sh", "mount"), ()])
def test_machine_without_unshare_still_judges(
    tools: Callable[..., None], names: tuple[str, ...], name: str
) -> None:
    tools(*names)
    assert not guards()["pid_namespace"]
    assert not guards()["private_tmp"]
    assert guards()["memory_limit"]
    assert run_program("print(1)").passed
    assert run_program("assert False").reason == "failed"
    assert run_program("import os\nos._exit(0)").reason == "exited early"
    assert run_program("import os, signal\nos.kill(os.getpid(), 9)").reason == "killed"
    assert run_program("while True: pass", Limits(wall_s=20, cpu_s=1)).reason == "timeout"
    family = "for _ in range(3): os.fork()\nwhile True: time.sleep(1)"
    assert run_program(named(name, family), SHORT).reason == "timeout"
    assert not alive(name)


def test_machine_without_unshare_removes_the_working_directory(tools: Callable[..., None]) -> None:
    tools()
    test_working_directory_is_removed()


def test_machine_without_landlock_still_judges(
    tools: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    tools("setpriv", "sh", "mount", "unshare")
    source = sandbox.BOOTSTRAP.replace("if abi < 1", "if abi")
    monkeypatch.setattr(sandbox, "BOOTSTRAP", source)
    assert not guards()["read_outside_denied"]
    assert run_program("print(1)").passed
    assert run_program("assert False").reason == "failed"


def test_stopping_leaves_no_zombie() -> None:
    before = psutil.Process().children()  # of other tests, whose programs may still be there
    run_program("import time\ntime.sleep(9)", Limits(wall_s=0.2))
    assert set(psutil.Process().children()) <= set(before)


def test_limit_shorter_than_the_start_is_a_timeout() -> None:
    result = run_program("pass", Limits(wall_s=0.001))
    assert result.reason == "timeout"


def test_interrupt_stops_the_program(name: str) -> None:
    needs("pid_namespace")
    # Whoever starts tests in the background of a script lets them ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_program(named(name, "time.sleep(60)"))
    assert time.monotonic() - start < 5
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert not alive(name)
