"""Hosts for boards that are executed: the monitor program, and the real firmware, both in simulated time."""

from __future__ import annotations

import subprocess
from pathlib import Path

from arm_fixtures import picker as description_of_picker
from arm_fixtures import servos as servos_of_picker
from firmware_bench import FRAME_US, Bench
from inspected_uno import InspectedUno

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.firmware.header import header_text
from picker_dynamics.board.protocol import BoardState, Ping, SetPoint, Telemetry
from picker_dynamics.sim.avr_board import compiled_in, wiring
from picker_dynamics.sim.avr_firmware import BAUD, AvrFirmware
from picker_dynamics.sim.avr_uno import CYCLES_PER_US

MONITOR = Path(__file__).parents[1] / "data" / "uno_monitor.c"
ALL = 0b11111
MIDDLE = (12000,) * 5
SPEED = 407
"""Of every joint of the picker [1/8 us per frame]; test_avr_firmware.py makes sure of it."""
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


def started_at(start_us: int, folder: Path) -> Path:
    """The picker's firmware, built to boot at another board time than 0."""
    arm, servos = picker()
    (folder / "arm_config.h").write_text(header_text(servos, arm))
    toolchain.make("elf", folder, BACKEND="pca9685", CONFIG=folder, DEFINES=f"-DSTART_TIME_US={start_us}UL")
    return folder / "pca9685" / toolchain.ELF


def avr(backend: str = "pca9685", *, servos=None, elf=None, baud: int = BAUD, **options) -> AvrFirmware:
    """The picker's board, switched on; ``servos``: another map than the picker's, ``elf``: another firmware than for that map."""
    arm, usual = picker()
    servos = usual if servos is None else servos
    elf = toolchain.build(servos, arm, backend, baud=baud) if elf is None else elf
    library = toolchain.library("sim")
    return AvrFirmware(
        library, elf, compiled_in(servos, backend), wiring(servos, backend), baud=baud, kind=InspectedUno, **options
    )


class AvrBench(Bench):
    """A host of a simulated Uno, which looks at the outputs every millisecond.

    Args:
        backend: of the firmware.
        servos: the servo map that it is built for, default the picker's.
        elf: the firmware, default one for that map.
        options: of ``AvrFirmware``.
    """

    step_us, all = 1000, ALL

    def __init__(self, backend: str = "pca9685", *, servos=None, elf=None, **options):
        self.connect(avr(backend, servos=servos, elf=elf, **options))
        self.uno = self.firmware.uno

    def note(self) -> None:
        self.track.append((self.now_us, self.firmware.pulses_us))

    def send(self, message, *, sequence: int | None = None, patience_us: int = 20_000):
        """Send a request; the answer to it, None where none comes in time."""
        number = self.write(message, sequence=sequence)
        until_us = self.now_us + patience_us
        while self.now_us < until_us:
            self.run(1000, host_alive=False)
            for answer in self.answers:
                if answer.request == number:
                    self.answers.remove(answer)
                    return answer
        return None

    def enabled(self, pulses=MIDDLE) -> AvrBench:
        """Wait for the board, say hello, and switch all joints on."""
        self.run(50_000)
        return super().enabled(pulses)

    def board_us(self) -> int:
        """Board time now, from a round trip."""
        return self.send(Ping()).time_us

    def stream(self, points) -> None:
        """Send points (time_us, pulses), one a millisecond."""
        for time_us, pulses in points:
            self.write(SetPoint(time_us % 2**32, pulses))
            self.run(1000, host_alive=False)

    def moving(self, speed: int = 400, points: int = 20) -> AvrBench:
        """In the middle of a motion of ``speed`` [1/8 us per frame], with what is left of ``points`` queued."""
        start_us = self.board_us()
        self.stream([(start_us + FRAME_US * k, tuple(pulse + speed * k for pulse in MIDDLE)) for k in range(1, points + 1)])
        self.run(150_000)
        assert self.telemetry[-1].state is BoardState.MOVE
        return self

    def require_unhurt(self) -> None:
        """No byte was lost, no interrupt waited long."""
        counts = self.uno.statistics
        assert counts.overruns == 0 and counts.longest_blocked_us <= BLOCKED_MAX_US, counts

    @property
    def last(self) -> Telemetry:
        """Telemetry that was built after this call."""
        self.listen()
        seen = len(self.telemetry)
        while len(self.telemetry) < seen + 2:
            self.run(5000)
        return self.telemetry[-1]

    def steps(self, joint: int = 0, since_us: int = 0) -> list[float]:
        """Changes of a joint's true pulse [1/8 us], sample by sample, while its output runs."""
        pulses = [pulses[joint] for time_us, pulses in self.track if time_us >= since_us]
        return [8 * (b - a) for a, b in zip(pulses, pulses[1:]) if None not in (a, b) and a != b]


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
        self.uno.run(self.uno.cycle + duration_us * CYCLES_PER_US)
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
