"""Core of the simulated boards: firmware, servos and arm in step, on whatever clock its owner keeps.

``BoardInMemory`` runs it on virtual time, ``VirtualBoard`` in real time.  What the firmware computes in a servo frame is on the
outputs from the plant's next step on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from picker_dynamics.board.firmware.config import ADC_COUNTS, ADC_REFERENCE_MV, FirmwareConfig, board_limits
from picker_dynamics.robot.servo_map import ServoMap

from .firmware_core import VirtualFirmware

if TYPE_CHECKING:  # clients of the board do without MuJoCo
    from .plant import Plant

HOST_TIMEOUT_S = 0.25
"""Silence of the host after which the board holds [s]."""

SUPPLY_V = 6.0
"""Nominal voltage of servos whose map does not say [V]."""

MEASURE_S = 5e-3
"""How often potentiometers and supply are measured [s]: no telemetry asks more often."""


def firmware_config(servos: ServoMap, host_timeout_s: float = HOST_TIMEOUT_S) -> FirmwareConfig:
    """Configuration that a firmware for these servos would have compiled in."""
    return FirmwareConfig(
        board_limits(servos),
        frame_us=round(servos.frame_s * 1e6),
        resolution_ns=round(servos.quantum_us * 1e3),
        supply_min_mv=round(servos.supply.minimum_v * 1e3) if servos.supply else 0,
        host_timeout_ms=round(host_timeout_s * 1e3),
    )


def adc_counts(servos: ServoMap, q: Any) -> tuple[int | None, ...]:
    """ADC values of the joints' potentiometers at ``q`` (n,) [rad], None where there is none.

    The ends of a servo's pulse map lie a tenth from the ends of the ADC's range.
    """
    first, last = np.array([(servo.pulses_us[0], servo.pulses_us[-1]) for servo in servos.servos]).T
    share = (servos.to_pulse_us(q) - first) / (last - first)
    values = np.rint((ADC_COUNTS - 1) * (0.1 + 0.8 * share)).astype(int).tolist()
    return tuple(value if servo.feedback_adc is not None else None for value, servo in zip(values, servos.servos))


class SimulatedBoard:
    """Firmware, servos and arm.

    Args:
        plant: the arm, at its first pose.
        servos: the servo map that the firmware is built for.
        found: (n,) set-points on outputs that run from the start [rad]; None: all are off.
        clock_drift: how much faster than its owner's the board's clock runs, as a share.
        host_timeout_s: silence of the host after which the board holds [s].
        firmware: what runs on the board, in place of a ``VirtualFirmware``; it sees to ``found`` and ``host_timeout_s`` itself.

    Attributes:
        skipped_s: time that the plant left out [s].
    """

    def __init__(
        self,
        plant: Plant,
        servos: ServoMap,
        *,
        found: Any = None,
        clock_drift: float = 0.0,
        host_timeout_s: float = HOST_TIMEOUT_S,
        firmware: Any = None,
    ):
        self.plant, self.skipped_s = plant, 0.0
        self._clock = (0.0, 0.0, 1.0 + clock_drift)  # the owner's time, the board's [s], rate since then
        self._executed = firmware is not None  # an executed firmware converts voltages itself
        if firmware is None:
            found_us = None if found is None else servos.to_pulse_us(found).tolist()
            config = firmware_config(servos, host_timeout_s)
            firmware = VirtualFirmware(config, now_us=self._board_us(self.time_s), found_us=found_us)
        self.firmware, self._servos = firmware, servos
        self._measure_at_s, self._measured_at_rest, self._supply_mv = -math.inf, False, 0
        self._wired = any(servo.feedback_adc is not None for servo in servos.servos)

    def deliver(self, data: bytes) -> None:
        """Carry what the firmware has said to the host."""
        raise NotImplementedError

    @property
    def time_s(self) -> float:
        """The owner's time that has been lived through [s]."""
        return self.plant.time + self.skipped_s

    @property
    def nominal_v(self) -> float:
        """Nominal voltage of the supply [V]."""
        return self._servos.supply_v or SUPPLY_V

    def live_until(self, until_s: float) -> None:
        """Let time pass until ``until_s``, rounded to the plant's steps."""
        plant, dt = self.plant, self.plant.dt
        while self.time_s < until_s - 0.5 * dt:
            self._measure()
            self._advance_firmware()
            due_s, steps = self._due_s(), 1
            if due_s is not None:
                steps = max(1, math.ceil((min(due_s, until_s) - self.time_s) / dt - 1e-6))
            plant.advance(self.firmware.pulses_us, steps * dt)
        self._advance_firmware()

    def _advance_firmware(self) -> None:
        self.firmware.advance(self._board_us(self.time_s))
        self._transmit()

    def _receive(self, data: bytes, at_s: float) -> None:
        """Hand bytes from the host to the firmware."""
        self.firmware.receive(data, self._board_us(at_s))
        self._transmit()

    def _transmit(self) -> None:
        if data := self.firmware.transmit():
            self.deliver(data)

    def _due_s(self) -> float | None:
        """When the firmware has something to do, if it can tell: one that is executed has all the time."""
        due_us = getattr(self.firmware, "due_us", None)
        since_s, board_s, rate = self._clock
        return None if due_us is None else since_s + (due_us * 1e-6 - board_s) / rate

    def _board_us(self, time_s: float) -> int:
        since_s, board_s, rate = self._clock
        return round((board_s + (time_s - since_s) * rate) * 1e6)

    # -- what the board measures -----------------------------------------------------------------------------------

    def _measure(self) -> None:
        at_rest = self.plant.at_rest
        if self.time_s < self._measure_at_s or at_rest and self._measured_at_rest:
            return
        self._measure_at_s, self._measured_at_rest = self.time_s + MEASURE_S, at_rest
        if self._wired:
            self.firmware.feedback = adc_counts(self._servos, self.plant.q)
        supply_mv = self._reads_mv()
        if supply_mv != self._supply_mv:
            self._supply_mv = supply_mv
            self.firmware.set_supply(supply_mv)

    def _reads_mv(self) -> int:
        """The supply behind its divider, in steps of the ADC [mV]; 0 where it is not measured."""
        if self._servos.supply is None:
            return 0
        mv = 1e3 * self.plant.supply * self.nominal_v
        step_mv = ADC_REFERENCE_MV * self._servos.supply.divider / ADC_COUNTS
        return round(mv if self._executed else round(mv / step_mv) * step_mv)
