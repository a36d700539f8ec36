"""What a run asks of its cards, against a stand-in for NVML that answers as told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from flybench.core.samples import GpuState, Telemetry
from flybench.measure.gpu import Sensors, open_sensors

UUIDS = {0: "GPU-a", 2: "GPU-b"}
POWER_CAP, IDLE, APPLICATION_CLOCKS, SYNC_BOOST, THERMAL = 0x04, 0x01, 0x02, 0x10, 0x20


class Nvml:
    """pynvml's names. A question in `silent` is refused, one in `unknown` does not exist."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def __init__(
        self, reasons: int = 0, silent: tuple[str, ...] = (), unknown: tuple[str, ...] = ()
    ) -> None:
        self.energy_mj = {"GPU-a": 1_000_000, "GPU-b": 5_000_000}
        self.asked: list[str] = []
        self._silent, self._unknown = silent, unknown
        self._answers: dict[str, Callable[..., Any]] = {
            "HandleByUUID": self._handle,
            "TotalEnergyConsumption": lambda gpu: self.energy_mj[gpu],
            "PowerUsage": lambda gpu: {"GPU-a": 650_500, "GPU-b": 90_000}[gpu],
            "ClockInfo": lambda gpu, kind: {1: 1755, 2: 2619}[kind],
            "Temperature": lambda gpu, sensor: 61,
            "CurrentClocksEventReasons": lambda gpu: reasons,
            "CurrentClocksThrottleReasons": lambda gpu: reasons,
        }

    def __getattr__(self, name: str) -> Callable[..., Any]:
        question = name.removeprefix("nvmlDeviceGet")
        if question not in self._answers or question in self._unknown:
            raise AttributeError(name)

        def ask(*arguments: Any) -> Any:
            self.asked.append(question)
            if question in self._silent:
                raise self.NVMLError("not supported")
            return self._answers[question](*arguments)

        return ask

    def _handle(self, uuid: str) -> str:
        if uuid not in self.energy_mj:
            raise self.NVMLError("not found")
        return uuid


def sample(nvml: Nvml, joules: int = 250) -> Telemetry:
    """The telemetry of a sample that took `joules` on the first card and none on the second."""
    sensors = Sensors(nvml, UUIDS)
    before = sensors.energy_j()
    nvml.energy_mj["GPU-a"] += 1000 * joules
    telemetry = sensors.since(before)
    assert telemetry is not None
    return telemetry


def test_every_card_is_described_in_plain_units() -> None:
    first, second = sample(Nvml()).gpus
    assert first == GpuState(0, 1755, 2619, 650.5, 61, [], 250.0)
    assert second == GpuState(2, 1755, 2619, 90.0, 61, [], 0.0)


def test_energy_of_a_sample_is_added_up_over_cards() -> None:
    assert sample(Nvml(), joules=40).energy_j == 40.0


def test_energy_is_read_before_anything_else() -> None:
    nvml = Nvml()
    sensors = Sensors(nvml, UUIDS)
    before = sensors.energy_j()
    nvml.asked.clear()
    sensors.since(before)
    assert nvml.asked[:3] == [*["TotalEnergyConsumption"] * 2, "CurrentClocksEventReasons"]


@pytest.mark.parametrize("reasons", [0, IDLE, APPLICATION_CLOCKS | SYNC_BOOST])
def test_idle_and_chosen_clocks_are_no_throttling(reasons: int) -> None:
    telemetry = sample(Nvml(reasons))
    assert telemetry.throttled is False
    assert telemetry.gpus[0].throttle == []


def test_real_throttling_is_named() -> None:
    telemetry = sample(Nvml(POWER_CAP | THERMAL | IDLE))
    assert telemetry.throttled is True
    assert telemetry.gpus[0].throttle == ["sw_power_cap", "sw_thermal_slowdown"]


def test_every_bit_is_that_of_nvml() -> None:
    import pynvml

    for name in ("SwPowerCap", "HwSlowdown", "SwThermalSlowdown", "HwThermalSlowdown"):
        [found] = sample(Nvml(getattr(pynvml, f"nvmlClocksThrottleReason{name}"))).gpus[0].throttle
        assert found.replace("_", "") == name.lower()
    brake = pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown
    assert sample(Nvml(brake)).gpus[0].throttle == ["hw_power_brake"]


@pytest.mark.parametrize("how", ["silent", "unknown"])
def test_an_old_driver_knows_throttling_by_its_old_name(how: str) -> None:
    options: dict[str, Any] = {how: ("CurrentClocksEventReasons",)}
    assert sample(Nvml(POWER_CAP, **options)).throttled is True


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ("TotalEnergyConsumption", "energy_j"), ("PowerUsage", "power_w"),
        ("ClockInfo", "sm_clock_mhz"), ("ClockInfo", "memory_clock_mhz"),
        ("Temperature", "temperature_c"),
    ],
)  # fmt: skip
def test_what_is_not_answered_is_unknown(question: str, field: str) -> None:
    telemetry = sample(Nvml(silent=(question,)))
    assert [getattr(gpu, field) for gpu in telemetry.gpus] == [None, None]
    assert telemetry.gpus[0].throttle == []


def test_unknown_throttling_is_not_the_same_as_none() -> None:
    silent = ("CurrentClocksEventReasons", "CurrentClocksThrottleReasons")
    telemetry = sample(Nvml(POWER_CAP, silent=silent))
    assert telemetry.throttled is None
    assert telemetry.gpus[0].throttle is None


def test_a_card_that_nvml_does_not_know_makes_the_sum_unknown() -> None:
    sensors = Sensors(Nvml(), {0: "GPU-a", 1: "GPU-of-another-host"})
    telemetry = sensors.since(sensors.energy_j())
    assert telemetry is not None
    assert telemetry.gpus[1] == GpuState(1, None, None, None, None, None, None)
    assert telemetry.energy_j is None
    assert telemetry.throttled is False


def test_a_cpu_has_no_sensors() -> None:
    sensors = open_sensors(torch.device("cpu"))
    assert sensors.since(sensors.energy_j()) is None
