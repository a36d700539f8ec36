"""Clocks, memory and the description of the machine.

One `Clock` times every method. Its `now` waits for the device, so it is called only where a sample
starts and ends; its `mark` does not wait, so that phases inside a round cost no synchronisation.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from typing import Any, cast

import psutil
import torch

HALF_FLAGS = {"avx512_fp16", "amx_fp16", "fphp", "asimdhp"}
Mark = float | torch.cuda.Event

PACKAGES = ("flybench", "torch", "transformers", "tokenizers", "numpy", "lm_eval", "datasets")


class Clock:
    """Monotonic seconds on the host, with device events for phases on CUDA."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def now(self) -> float:
        """Seconds, after everything queued on the device has finished."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def mark(self) -> Mark:
        """A point between two phases; only `seconds` gives it a meaning."""
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, start: Mark, end: Mark) -> float:
        """Seconds between two marks; on CUDA only after the device has passed both."""
        if isinstance(start, float):
            return cast(float, end) - start
        return start.elapsed_time(cast(torch.cuda.Event, end)) / 1000


def reset_peak_memory(device: torch.device) -> None:
    """Start a new measurement of peak memory where the device keeps one (CUDA)."""
    if device.type == "cuda":
        for index in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(index)


def peak_memory_bytes(device: torch.device) -> int:
    """Peak bytes since the last reset on CUDA, over all cards; on CPU the process's own peak."""
    if device.type == "cuda":
        return sum(torch.cuda.max_memory_allocated(i) for i in range(torch.cuda.device_count()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def physical_cores() -> int:
    """Cores that this process may use: a second thread on a core gets in the way of its sums."""
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return min(cores, affinity)


def computes_natively(dtype: torch.dtype) -> bool:
    """Whether this machine's processor multiplies `dtype` itself; True where it cannot be known."""
    if dtype == torch.float32:
        return True
    flags = {"avx512_bf16", "amx_bf16", "bf16"} if dtype == torch.bfloat16 else HALF_FLAGS
    known = _cpu_flags()
    return not known or bool(known & flags)


def environment(device: torch.device) -> dict[str, Any]:
    """Versions and hardware, for provenance; no environment variables, which hold secrets."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
        "cpu": _cpu_name(),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "threads": torch.get_num_threads(),
        "device": device_name(device),
        "gpus": _gpus() if device.type == "cuda" else [],
        "load_average": list(os.getloadavg()),
    }


def device_name(device: torch.device) -> str:
    """The name a table prints: the card's, or the processor's."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else _cpu_name()


def busy_share() -> float:
    """Share of the processor that is at work right now, watched for half a second."""
    return psutil.cpu_percent(interval=0.5) / 100


SECRET = re.compile(r"(^|[._-]|api)(token|key|secret|password|credential)$")


def redacted(arguments: Sequence[str]) -> list[str]:
    """Command-line arguments with the value of anything that names a secret replaced.

    Names end in the telling word, so that counts such as `max_new_tokens` stay.
    """
    pairs = [argument.partition("=") for argument in arguments]
    return [
        f"{name}=<redacted>" if equals and SECRET.search(name.lower()) else name + equals + value
        for name, equals, value in pairs
    ]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_name() -> str:
    return cpu_line("model name") or platform.processor() or platform.machine()


def _cpu_flags() -> set[str]:
    """What Linux says the first processor can do (`flags` on x86, `Features` on Arm)."""
    return set((cpu_line("flags") or cpu_line("Features")).split())


def cpu_line(name: str) -> str:
    """The value of the first line of /proc/cpuinfo with this name; empty where there is none."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((x.split(":", 1)[1].strip() for x in lines if x.startswith(name)), "")
    except OSError:
        return ""


def _gpus() -> list[dict[str, Any]]:
    """Clocks, power and foreign processes of every card, as far as NVML answers."""
    import pynvml

    try:
        pynvml.nvmlInit()
        return [_gpu(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        return [{"nvml": str(error)}]


def _gpu(nvml: Any, index: int) -> dict[str, Any]:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    questions = {
        "name": lambda: nvml.nvmlDeviceGetName(handle),
        "driver": nvml.nvmlSystemGetDriverVersion,
        "memory_bytes": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total,
        "sm_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "memory_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "power_limit_w": lambda: nvml.nvmlDeviceGetPowerManagementLimit(handle) / 1000,
        "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "processes": lambda: len(nvml.nvmlDeviceGetComputeRunningProcesses(handle)),
    }
    answers: dict[str, Any] = {}
    for name, ask in questions.items():
        try:
            answers[name] = ask()
        except nvml.NVMLError as error:
            answers[name] = f"no answer: {error}"
    return answers
