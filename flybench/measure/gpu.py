"""Clocks, power, temperature, throttling and energy of GPUs, as reported by NVML.

NVML is queried before and after a sample, never while one is timed. Missing answers are None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from flybench.core.samples import GpuState, Telemetry
from flybench.distributed import world_size

# Bits of NVML's clock event reasons that mean throttling. Idle GPUs, clocks set by a user, and GPUs
# that wait for each other do not count.
THROTTLING = {
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake",
}
Energy = Sequence[float | None]


class Sensors:
    """The GPUs of one run; on a CPU there are none.

    `uuids` are by CUDA index, because NVML also counts GPUs that are not visible to CUDA.
    """

    def __init__(self, nvml: Any, uuids: Mapping[int, str]) -> None:
        self._nvml = nvml
        self._handles = {
            index: self._ask("nvmlDeviceGetHandleByUUID", uuid) for index, uuid in uuids.items()
        }

    def energy_j(self) -> Energy:
        """Return the joules that each GPU used since its driver was loaded."""
        answers = [self._of(gpu, "nvmlDeviceGetTotalEnergyConsumption") for gpu in self._handles]
        return [None if mj is None else mj / 1000 for mj in answers]

    def since(self, before: Energy) -> Telemetry | None:
        """Return the state of the GPUs and the energy since `before`; None without GPUs."""
        after = (
            self.energy_j()
        )  # first, so the other queries do not count towards the sample's energy
        gpus = [
            self._state(gpu, None if start is None or end is None else end - start)
            for gpu, start, end in zip(self._handles, before, after, strict=True)
        ]
        return Telemetry(gpus) if gpus else None

    def _state(self, gpu: int, energy_j: float | None) -> GpuState:
        throttle = self._throttle(gpu)  # before the GPU notices that it is idle
        milliwatts = self._of(gpu, "nvmlDeviceGetPowerUsage")
        nvml = self._nvml
        return GpuState(
            index=gpu,
            sm_clock_mhz=self._of(gpu, "nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            memory_clock_mhz=self._of(gpu, "nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
            power_w=None if milliwatts is None else milliwatts / 1000,
            temperature_c=self._of(gpu, "nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            throttle=throttle,
            energy_j=energy_j,
        )

    def _throttle(self, gpu: int) -> list[str] | None:
        reasons = self._of(gpu, "nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:  # the name before driver 535
            reasons = self._of(gpu, "nvmlDeviceGetCurrentClocksThrottleReasons")
        if reasons is None:
            return None
        return [name for bit, name in THROTTLING.items() if reasons & bit]

    def _of(self, gpu: int, question: str, *arguments: Any) -> Any:
        handle = self._handles[gpu]
        return None if handle is None else self._ask(question, handle, *arguments)

    def _ask(self, question: str, *arguments: Any) -> Any:
        """Return NVML's answer; None if this GPU, driver or binding has none."""
        ask = getattr(self._nvml, question, None)
        try:
            return None if ask is None else ask(*arguments)
        except self._nvml.NVMLError:
            return None


def open_sensors(device: torch.device) -> Sensors:
    """Return the GPUs on which this process (or any rank of this host) has allocated memory, after
    the models are loaded."""
    import pynvml

    if device.type != "cuda":
        return Sensors(pynvml, {})
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return Sensors(pynvml, {})
    if world_size() > 1:
        used = list(range(world_size()))
    else:
        used = [i for i in range(torch.cuda.device_count()) if torch.cuda.memory_allocated(i)]
    properties = torch.cuda.get_device_properties
    return Sensors(pynvml, {index: f"GPU-{properties(index).uuid}" for index in used})
