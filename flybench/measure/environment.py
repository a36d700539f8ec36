"""Hardware and software of the machine, for provenance and for choices that depend on it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import psutil
import torch

HALF_FLAGS = {"avx512_fp16", "amx_fp16", "fphp", "asimdhp"}
PACKAGES = ("flybench", "torch", "transformers", "tokenizers", "numpy", "lm_eval", "datasets")
SECRET = re.compile(r"(^|[._-]|api)(token|key|secret|password|credential)$")


def physical_cores() -> int:
    """Return the number of physical cores that this process may use.

    A second thread on a core slows down its arithmetic.
    """
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return min(cores, affinity)


def computes_natively(dtype: torch.dtype) -> bool:
    """Return whether the CPU has native instructions for `dtype`; True where this is unknown."""
    if dtype == torch.float32:
        return True
    flags = {"avx512_bf16", "amx_bf16", "bf16"} if dtype == torch.bfloat16 else HALF_FLAGS
    known = _cpu_flags()
    return not known or bool(known & flags)


def environment(device: torch.device) -> dict[str, Any]:
    """Return versions and hardware, without environment variables, which may be secret."""
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
    """Return the name of the GPU or of the CPU, as tables print it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else _cpu_name()


def busy_share() -> float:
    """Return the share of the CPU in use, sampled for half a second."""
    return psutil.cpu_percent(interval=0.5) / 100


def redacted(arguments: Sequence[str]) -> list[str]:
    """Return command-line arguments with the values of secrets replaced.

    Only names that end in a word such as `token` count as secrets: `max_new_tokens=8` is kept.
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
    """Return the features of the first processor on Linux (`flags` on x86, `Features` on Arm)."""
    return set((cpu_line("flags") or cpu_line("Features")).split())


def cpu_line(name: str) -> str:
    """Return the first value of this name in /proc/cpuinfo; empty if there is none."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((x.split(":", 1)[1].strip() for x in lines if x.startswith(name)), "")
    except OSError:
        return ""


def _gpus() -> list[dict[str, Any]]:
    """Return clocks, power and number of processes of every GPU, as far as NVML answers."""
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
