"""Simulated Uno for a servo map: firmware and simulator compiled where due, wired up, switched on."""

from __future__ import annotations

from dataclasses import replace

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.firmware.header import PCA9685_COUNTS, TIMER_FIRST_PIN, TIMER_RESOLUTION_NS
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap

from .avr_firmware import AvrFirmware, Wiring
from .simulated_board import HOST_TIMEOUT_S, firmware_config


def avr_firmware(
    arm: ArmDescription, servos: ServoMap, found_q=None, *, backend: str = "pca9685", host_timeout_s: float = HOST_TIMEOUT_S
) -> AvrFirmware:
    """The firmware for these servos, compiled where that is due, and switched on.

    Args:
        found_q: (n,) pose at which a PCA9685 runs already [rad], None where it is off.
        backend: ``pca9685`` or ``timer``.
        host_timeout_s: what is compiled in, nothing else [s].

    Raises:
        ConfigurationError: a time-out that is not compiled in, or an unknown back end.
        MissingDependencyError: what the build needs is not installed; names the packages.
        BuildError: it does not compile.
    """
    if host_timeout_s != HOST_TIMEOUT_S:
        text = f"host_timeout is {host_timeout_s:g} s, the firmware has {HOST_TIMEOUT_S:g} s compiled in"
        raise ConfigurationError(text, subject="host_timeout", value=host_timeout_s, limit=HOST_TIMEOUT_S)
    elf = toolchain.build(servos, arm, backend)
    found_us = None if found_q is None else servos.to_pulse_us(found_q).tolist()
    return AvrFirmware(toolchain.library("sim"), elf, compiled_in(servos, backend), wiring(servos, backend), found_us=found_us)


def wiring(servos: ServoMap, backend: str = "pca9685") -> Wiring:
    """Wiring of a board with a firmware for this servo map."""
    first = TIMER_FIRST_PIN if backend == "timer" else 0
    supply = {} if servos.supply is None else {"supply_adc": servos.supply.adc, "supply_divider": servos.supply.divider}
    return Wiring(
        backend,
        tuple(first + channel for channel in servos.channels),
        tuple(servo.feedback_adc for servo in servos.servos),
        **supply,
    )


def compiled_in(servos: ServoMap, backend: str = "pca9685") -> FirmwareConfig:
    """Configuration in ``arm_config.h`` for these servos."""
    usual = firmware_config(servos)
    resolution_ns = TIMER_RESOLUTION_NS if backend == "timer" else round(usual.frame_us * 1e3 / PCA9685_COUNTS)
    return replace(usual, resolution_ns=resolution_ns)
