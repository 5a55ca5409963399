"""The board's gravity against Pinocchio: run by the simulated AVR, cycles counted.

The truth is the URDF through Pinocchio and the servo map's own arithmetic, in double precision; the firmware has nothing of
them but ``arm_config.h``.
"""

import struct
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos
from avr_bench import AvrBench
from firmware_tools import SKETCH, needs
from inspected_uno import InspectedUno

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.firmware.header import header_text
from picker_dynamics.board.protocol import BoardState, Fault
from picker_dynamics.sim.avr_firmware import CYCLES_PER_US

POSES = 300
TOLERANCE_NM = 1e-4


ON_THE_AVR = r"""
#include <avr/io.h>
#include "arm_config.h"
float q[PICKER_JOINTS], torque[PICKER_JOINTS];
uint16_t from[PICKER_JOINTS], to[PICKER_JOINTS];
int16_t change[PICKER_JOINTS];
volatile uint8_t job;
int main() {
  for (;;) {
    const uint8_t what = job;
    if (what == 0) continue;
    GPIOR0 = what;
    if (what == 1) picker::gravity_torque(*arm_config::GRAVITY, q, torque);
    if (what == 2) picker::gravity_difference(*arm_config::GRAVITY, from, to, change);
    GPIOR0 = 0;
    job = 0;
  }
}
"""


def bent():
    """The simulated picker with maps that bend, a soft elbow, and points between two units of the protocol."""
    elbow = replace(
        servos().servos[2],
        stiffness=6.0,
        horn_angles=tuple(np.radians([-90.0, -20.0, 35.0, 90.0])),
        pulses_us=(520.03, 1290.0, 1877.3, 2480.0),
    )
    shoulder = replace(servos().servos[1], horn_angles=tuple(np.radians([-90.0, 5.0, 90.0])), pulses_us=(500.0, 1570.0, 2500.0))
    return replace(servos(), servos=(servos().servos[0], shoulder, elbow, *servos().servos[3:]))


def pulses_of(arm, count: int, seed: int) -> np.ndarray:
    """Whole pulses [1/8 us] between the ends of the maps."""
    rng = np.random.default_rng(seed)
    return np.floor(8.0 * rng.uniform(arm.pulse_lower_us + 0.25, arm.pulse_upper_us - 0.25, (count, arm.n))).astype(int)


def expected_change(arm, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """[G(q_end) - G(q_start)] / K in pulses [1/8 us], through the slope of the map at the end."""
    change = rigid_body().gravity(arm.to_angle(end / 8.0)) - rigid_body().gravity(arm.to_angle(start / 8.0))
    step_us = 0.01
    slope = (arm.to_angle(end / 8.0 + step_us) - arm.to_angle(end / 8.0 - step_us)) / (16.0 * step_us)  # rad per 1/8 us
    return change / arm.model.stiffness / slope


def near_a_bend(arm, pulses: np.ndarray) -> np.ndarray:
    """Pulses so close to a point of their map that the slope there is anyone's guess."""
    return np.stack(
        [np.abs(pulses[:, j, None] - 8.0 * np.array(servo.pulses_us)).min(axis=1) <= 1.0 for j, servo in enumerate(arm.servos)],
        axis=-1,
    )


class AvrGravity:
    """gravity.cpp compiled for the ATmega328P and run by the simulated Uno; ``cycles`` are those of the last call."""

    def __init__(self, folder, arm):
        self.n = arm.n
        (folder / "arm_config.h").write_text(header_text(arm, picker()))
        (folder / "bench.cpp").write_text(ON_THE_AVR)
        flags = ["-mmcu=atmega328p", "-DF_CPU=16000000UL", "-std=gnu++11", "-Os", "-flto", f"-I{folder}", f"-I{SKETCH}"]
        sources = [folder / "bench.cpp", SKETCH / "src/core/gravity.cpp"]
        subprocess.run(["avr-g++", *flags, *sources, "-lm", "-o", folder / "bench.elf"], check=True)
        self.uno = InspectedUno(toolchain.library("sim"), folder / "bench.elf")
        self.uno.run(1000 * CYCLES_PER_US)
        self.cycles = 0

    def run(self, job: int, inputs: dict[str, bytes], output: str, code: str) -> list:
        self.uno.markers()
        for name, data in inputs.items():
            self.uno.poke(self.uno.symbol(name), data)
        self.uno.poke(self.uno.symbol("job"), bytes([job]))
        for _ in range(20):
            self.uno.run(self.uno.cycle() + 200 * CYCLES_PER_US)
            if not self.uno.peek(self.uno.symbol("job"))[0]:
                break
        (begun, _), (done, _) = self.uno.markers()
        self.cycles = done - begun
        layout = f"<{self.n}{code}"
        return list(struct.unpack(layout, self.uno.peek(self.uno.symbol(output), struct.calcsize(layout))))

    def torque(self, q) -> list[float]:
        return self.run(1, {"q": struct.pack(f"<{self.n}f", *q)}, "torque", "f")

    def difference(self, start, end) -> list[int]:
        pack = struct.Struct(f"<{self.n}H").pack
        return self.run(2, {"from": pack(*map(int, start)), "to": pack(*map(int, end))}, "change", "h")


@needs("sim")
def test_torques_are_pinocchios(tmp_path):
    board = AvrGravity(tmp_path, servos())
    arm = picker()
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (POSES, arm.n))
    torques = np.array([board.torque(pose) for pose in q])
    np.testing.assert_allclose(torques, rigid_body().gravity(q), rtol=0, atol=TOLERANCE_NM)
    assert np.abs(torques).max() > 0.9  # the poses include heavy ones


@needs("sim")
@pytest.mark.parametrize("arm", [servos, bent], ids=["straight maps", "bent maps"])
def test_differences_are_pinocchios_through_springs_and_maps(tmp_path, arm):
    arm = arm()
    board = AvrGravity(tmp_path, arm)
    start, end = pulses_of(arm, POSES, 1), pulses_of(arm, POSES, 2)
    changes = np.array([board.difference(*pair) for pair in zip(start, end)])
    expected = expected_change(arm, start, end)
    tolerance = 0.5 + TOLERANCE_NM * 2.0 / arm.model.stiffness * 6000.0  # rounding, and what the torque may be off
    off = np.abs(changes - expected) - tolerance
    assert off[~near_a_bend(arm, end)].max() <= 0.0
    assert (changes[:, [0, 4]] == 0).all() and np.abs(changes[:, 1]).max() > 500


def braked(pulses, speeds, limits) -> np.ndarray:
    """Where plain braking ends [1/8 us]: each frame the speed falls by ``brake``, and the pulse goes on by what is left."""
    end = np.array(pulses)
    for joint, (speed, limit) in enumerate(zip(speeds, limits)):
        while speed:
            speed -= int(np.sign(speed)) * min(abs(speed), limit.brake)
            end[joint] += speed
    return end


@needs("sim")
def test_the_firmware_that_loses_its_host_ends_where_pinocchio_says():
    """The ELF as it is flashed, moving at full stretch; from the last frame with a host to standstill."""
    arm = replace(servos(), servos=tuple(replace(servo, stiffness=2.0) for servo in servos().servos))  # soft: more to see
    bench = AvrBench(servos=arm)
    bench.firmware.set_supply(6000)
    bench.enabled().moving(300, points=24)
    bench.run(700_000, host_alive=False)
    followed = [one for one in bench.telemetry if one.state is BoardState.MOVE]
    before, last = (np.array(one.pulses) for one in followed[-2:])
    end = bench.telemetry[-1]
    assert end.state is BoardState.HOLD and end.faults == Fault.HOST_LOST.bit
    limits = board_limits(arm)
    plain = braked(last, (last - before).tolist(), limits)
    change = expected_change(arm, last[None], plain[None])[0]
    assert np.abs(change[1:4]).min() > 10.0, "the motion changes too little to tell"
    np.testing.assert_allclose(np.array(end.pulses) - plain, change, rtol=0, atol=0.6)
    steps = np.diff([one.pulses for one in bench.telemetry if one.state is not BoardState.IDLE], axis=0)
    assert (np.abs(steps) <= [limit.speed for limit in limits]).all()
