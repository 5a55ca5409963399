"""Hosts for boards that are executed: the monitor program, and the real firmware, both in simulated time."""

import subprocess
from dataclasses import replace
from pathlib import Path

from arm_fixtures import picker as description_of_picker
from arm_fixtures import servos as servos_of_picker
from firmware_bench import Bench
from inspected_uno import InspectedUno, executed

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.firmware.header import header_text
from picker_dynamics.sim.avr_firmware import CYCLES_PER_US, AvrFirmware

MODE1, LED0, PRE_SCALE = 0x00, 0x06, 0xFE
AUTO_INCREMENT, FULL_OFF = 0x20, 0x10
MONITOR = Path(__file__).parents[1] / "data" / "uno_monitor.c"
BLOCKED_MAX_US = 40.0
COUNT_EIGHTHS = 8 * 4.88
"""A count of the PCA9685 in 1/8 us: 122 ticks of 25 MHz."""


def picker():
    """The picker's description, and its servo map."""
    return description_of_picker(), servos_of_picker(simulated=False)


def with_inputs(folder: Path):
    """The picker's servo map with potentiometers at two joints and a measured supply."""
    overlay = folder / "inputs.yaml"
    overlay.write_text(
        "board: {supply: {adc: 3, divider: 2.0, minimum_v: 4.5}}\n"
        "joints: {shoulder: {feedback_adc: 0}, wrist: {feedback_adc: 2}}\n"
    )
    return servos_of_picker(overlay=overlay)


class AvrBench(Bench):
    """A host of the picker's board, an executed one.

    Args:
        backend: of the firmware.
        servos: the servo map that it is built for, default the picker's.
        elf: the firmware, default one for that map.
        start_us: board time at which a firmware that is built for this starts.
        found_us: pulses that the PCA9685 runs already [us], as after a reset of the Uno alone.
    """

    wire_us, grain_us = 2000, 1000

    def __init__(self, backend: str = "pca9685", *, servos=None, elf=None, start_us: int = 0, folder=None, found_us=None):
        arm, usual = picker()
        servos = usual if servos is None else servos
        if start_us:
            (folder / "arm_config.h").write_text(header_text(servos, arm))
            toolchain.make("elf", folder, BACKEND=backend, CONFIG=folder, DEFINES=f"-DSTART_TIME_US={start_us}UL")
            elf = folder / backend / toolchain.ELF
        elf, library = elf or toolchain.build(servos, arm, backend), toolchain.library("sim")
        firmware = executed(library, elf, servos, backend)
        if found_us:
            run_already(firmware, found_us)
        firmware.config = replace(firmware.config, start_time_us=start_us)
        self.connect(firmware)
        self.uno = self.firmware.uno

    def require_unhurt(self) -> None:
        """No byte was lost, no interrupt waited long."""
        counts = self.uno.statistics
        assert counts.overruns == 0 and counts.longest_blocked_us <= BLOCKED_MAX_US, counts

    def steps(self, joint: int = 0, since_us: int = 0) -> list[float]:
        """Changes of a joint's true pulse [1/8 us], sample by sample, while its output runs."""
        pulses = [pulses[joint] for time_us, pulses in self.track if time_us >= since_us]
        return [8 * (b - a) for a, b in zip(pulses, pulses[1:]) if None not in (a, b) and a != b]


def run_already(firmware: AvrFirmware, pulses_us) -> None:
    """Let the chip run at these pulses [us]."""
    uno = firmware.uno
    uno.chip_set_register(PRE_SCALE, round(25e6 / (4096 * 1e6 / firmware.config.frame_us)) - 1)
    uno.chip_set_register(MODE1, AUTO_INCREMENT)
    for channel, pulse_us in zip(firmware.servos.channels, pulses_us):
        counts = 0 if pulse_us is None else round(pulse_us / uno.chip_count_us())
        for offset, value in enumerate((0, 0, counts & 0xFF, counts >> 8 if counts else FULL_OFF)):
            uno.chip_set_register(LED0 + 4 * channel + offset, value)


class Monitor:
    """The monitor program on a simulated Uno: registers, from outside."""

    def __init__(self, folder: Path):
        elf = folder / "monitor.elf"
        subprocess.run(["avr-gcc", "-mmcu=atmega328p", "-DF_CPU=16000000UL", "-Os", "-o", str(elf), str(MONITOR)], check=True)
        self.uno = InspectedUno(toolchain.library("sim"), elf)
        self.uno.line_speed(500_000)
        self.run_us(100)

    def run_us(self, duration_us: int) -> bytes:
        """Let time pass; what the board said."""
        self.uno.run(self.uno.cycle() + duration_us * CYCLES_PER_US)
        return bytes(stamped.value for stamped in self.uno.fetch())

    def ask(self, command: bytes, duration_us: int = 400) -> bytes:
        """Send a command; what was answered."""
        self.uno.send(command)
        return self.run_us(duration_us)

    def read(self, address: int) -> int:
        [value] = self.ask(b"r" + address.to_bytes(2, "little"))
        return value

    def write(self, address: int, value: int) -> None:
        assert self.ask(b"w" + address.to_bytes(2, "little") + bytes([value])) == b""
