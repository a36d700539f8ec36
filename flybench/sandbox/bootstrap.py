"""Bootstrap of the sandbox's fresh interpreter, run before and around a program.

`execute.py` passes the source of this file on the command line and calls `inside`. It may import
only the standard library.
"""

import ctypes
import json
import linecache
import os
import resource
import struct
import sys
import traceback
import types


def inside() -> None:
    """Read the job from stdin, run its program, and report."""
    # Local references, which the program cannot replace.
    write, leave, getpid, own_pid = os.write, os._exit, os.getpid, os.getpid()
    with open(0, closefd=False) as stdin:
        source, sentinel, report, rlimits = json.load(stdin)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    linecache.cache["<program>"] = (len(source), None, source.splitlines(True), "<program>")
    no_memory = f"{sentinel}memory\nMemoryError".encode()  # made while there is memory
    _confine(rlimits)

    def finish(verdict: bytes) -> None:
        if getpid() == own_pid:  # a forked child may get here too, but must not report
            write(report, verdict)
        leave(0)

    write(report, sentinel.encode())
    try:
        exec(compile(source, "<program>", "exec"), main.__dict__)
        verdict, note = "passed", ""
    except MemoryError:
        finish(no_memory)
    except SystemExit as error:
        verdict, note = "exited early", f"SystemExit: {error}"
    except BaseException as error:
        inner = error.__traceback__ and error.__traceback__.tb_next  # without this function
        lines = traceback.format_exception(type(error), error, inner)
        verdict, note = "failed", "".join(lines).rstrip()[-rlimits["FSIZE"] // 2 :]
    finish(f"{sentinel}{verdict}\n{note}".encode(errors="backslashreplace"))


def _confine(rlimits: dict[str, int]) -> None:
    """Set the limits, and restrict file access with Landlock.

    Landlock needs Linux 5.13; later ones also cut TCP, signals and abstract sockets to the outside.
    """
    for name, value in rlimits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        value = min(value, resource.getrlimit(kind)[1] % (1 << 64))  # -1 means no limit
        resource.setrlimit(kind, (value, value))
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(444, None, ctypes.c_size_t(0), 1)  # landlock_create_ruleset, on any machine
    if abi < 1:
        return
    everything = (1 << 12 + min(abi, 3)) - 2  # all rights of this version except executing
    attributes = struct.pack("QQQ", everything, 3, 3)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    rules = libc.syscall(444, attributes, ctypes.c_size_t(len(attributes)), 0)
    system = "/usr /lib /lib64 /proc /dev/zero /dev/random /dev/urandom /etc/ld.so.cache "
    system += "/etc/localtime /etc/mime.types /etc/nsswitch.conf /etc/passwd"
    readable = dict.fromkeys([sys.prefix, sys.base_prefix, *system.split()], 0b1100)
    for path, rights in {**readable, os.devnull: 0b110, os.getcwd(): everything}.items():
        if os.path.exists(path):
            rights &= -1 if os.path.isdir(path) else 0b110  # a file can only be written and read
            fd = os.open(path, os.O_PATH)
            if libc.syscall(445, rules, 1, struct.pack("=Qi", rights, fd), 0) != 0:
                raise OSError(ctypes.get_errno(), "landlock_add_rule", path)
            os.close(fd)
    libc.prctl(38, *map(ctypes.c_ulong, (1, 0, 0, 0)))  # no_new_privs, which Landlock requires
    if libc.syscall(446, rules, 0) != 0:
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    os.close(rules)
