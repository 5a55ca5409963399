"""Speed and stall torque from timed moves, against MuJoCo's servo with hidden figures."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
from arm_fixtures import servos
from pytest import approx, fixture, mark, raises

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration.sweep import BEYOND_RAD, FRAME_S, TimedMove, lever_loads, timed_sweep, video_sd
from picker_dynamics.robot import description as descriptions
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.plant_error import draw

HORN = """<robot name="horn"><link name="base_link"/>
  <joint name="servo" type="revolute"><parent link="base_link"/><child link="horn"/><axis xyz="0 -1 0"/>
    <limit lower="-1.5708" upper="1.5708" velocity="8" effort="1.1"/></joint>
  <link name="horn"><inertial><origin xyz="0.01 0 0"/><mass value="0.005"/>
    <inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/></inertial></link></robot>"""
ARM = descriptions.parse(HORN)
PICKER = servos(ideal=True)
LEVER, ARMATURE = 0.10, 1e-3
STALL, SPEED = 0.93, 6.3
"""Hidden; the servo map says 1.08 and 7.48."""


class Sweeper:
    """One servo on the bench, and who times it."""

    def __init__(self, **plant):
        servo = replace(PICKER.servos[0], joint="servo", stall_torque=STALL, no_load_speed=SPEED, rest=0.0, home=0.0)
        self.servos = replace(PICKER, servos=(servo,))
        self.plant = Plant(ARM, self.servos, quantise=False, **plant)

    def crossing(self, start: float, mark: float, mass: float = 0.0) -> float:
        """Time from the command to where the lever passes the mark [s]."""
        end = mark + math.copysign(BEYOND_RAD, mark - start)
        self.plant.attach(mass, (LEVER, 0.0, 0.0))
        self.plant.reset([start])
        pulses = tuple(self.servos.to_pulse_us(np.array([end])).tolist())
        before = start
        for step in range(1, 8000):
            self.plant.step(pulses)
            now = float(self.plant.q[0])
            if (now - mark) * (mark - start) >= 0.0:
                return self.plant.dt * (step - (now - mark) / (now - before))
            before = now
        raise AssertionError(f"the mark at {mark} was not passed with {mass} kg")


UNLOADED = [(-1.2, -0.7), (-1.2, 0.2), (-1.2, 1.1)]
LOADED = [(-0.9, 0.3, 0.35), (-0.9, 0.7, 0.35), (-0.9, 0.7, 0.6)]


sweep_of = partial(timed_sweep, "servo")


@fixture(scope="module")
def exact():
    """Times without noise."""
    return timed(Sweeper())


def timed(sweeper):
    """Exact times of all moves."""
    made = [TimedMove(abs(end - start), sweeper.crossing(start, end)) for start, end in UNLOADED]
    made += [
        TimedMove(
            end - start,
            sweeper.crossing(start, end, mass),
            loads=lever_loads(mass, LEVER, start, end),
            inertia=ARMATURE + mass * LEVER**2,
        )
        for start, end, mass in LOADED
    ]
    return made


def read(moves, rng, sd, repeats, reaction=0.18):
    """Each move timed some times over, with reaction, the frame's wait and the clock's noise."""
    return [
        replace(move, time_s=move.time_s + reaction + rng.uniform(0.0, FRAME_S) + rng.normal(0.0, sd), sd=sd)
        for move in moves
        for _ in range(repeats)
    ]


def test_exact_times_give_the_figures(exact):
    found = sweep_of([replace(move, sd=0.002) for move in exact])
    assert found.speed.value == approx(SPEED, rel=0.005)
    assert found.stall.value == approx(STALL, rel=0.01)


def test_a_video_tells_speed_and_stall(exact):
    found = sweep_of(read(exact, np.random.default_rng(0), video_sd(60.0), 3))
    assert found.speed.contains(SPEED) and found.speed.sd < 0.06 * SPEED
    assert found.stall.contains(STALL) and found.stall.sd < 0.06 * STALL
    assert found.lag.value == approx(0.18 + FRAME_S / 2.0, abs=0.02) and 0.5 < found.misfit < 1.5


def test_a_stopwatch_tells_a_stall_torque_less_well(exact):
    found = sweep_of(read(exact, np.random.default_rng(1), 0.05, 10))
    assert found.speed.contains(SPEED) and found.stall.contains(STALL)
    assert 0.06 < found.speed.sd / SPEED < 0.25


def test_intervals_contain_the_truth_as_often_as_they_say(exact):
    rng, rounds, inside = np.random.default_rng(5), 200, np.zeros(2)
    for _ in range(rounds):
        found = sweep_of(read(exact, rng, video_sd(30.0), 5))
        inside += found.speed.contains(SPEED), found.stall.contains(STALL)
    assert (inside >= 0.90 * rounds).all() and (inside <= 0.99 * rounds).all(), inside


def test_dry_friction_is_part_of_the_servo():
    friction = 0.05
    sweeper = Sweeper(plant_error=replace(draw(ARM, [STALL]), coulomb=np.array([friction])))
    found = sweep_of([replace(move, sd=0.002) for move in timed(sweeper)])
    assert found.speed.value == approx(SPEED * (1.0 - friction / STALL), rel=0.01)
    assert found.stall.value == approx(STALL - friction, rel=0.02)


def test_without_a_weight_there_is_a_speed_only(exact):
    found = sweep_of(read(exact[:3], np.random.default_rng(2), video_sd(60.0), 4))
    assert found.stall is None and found.speed.contains(SPEED)


def test_the_line_is_that_of_the_servo_model():
    """Constant load and no inertia: v = (tau_stall - load) / D, which the servo model says of any steady turning."""
    servo = Sweeper().servos.model
    speed = (servo.stall_torque[0] - 0.4) / servo.damping[0]
    assert servo.motor_torque([3.0], [0.0], [speed])[0] == approx(0.4)
    moves = [TimedMove(s, 0.1 + s / SPEED, 0.001, inertia=0.0) for s in (0.5, 1.5, 2.5)]
    moves += [TimedMove(s, 0.1 + s / speed, 0.001, loads=(0.4,), inertia=0.0) for s in (0.5, 1.5)]
    found = sweep_of(moves)
    assert (found.speed.value, found.stall.value) == approx((SPEED, STALL), rel=1e-6)
    assert found.lag.value == approx(0.1)


GOOD = [TimedMove(0.5, 0.30), TimedMove(1.5, 0.45), TimedMove(2.5, 0.60)]


@mark.parametrize(
    "changes, message",
    [
        ({"time_s": -0.2}, "servo: timed move 2: time is -0.2 s, must be above 0"),
        (
            {"time_s": 450.0},
            r"servo: timed move 2: 85\.9 deg in 450 s is slower than any servo \(11\.5 deg/s\): are these milliseconds\?",
        ),
        ({"time_s": 0.004, "sd": 0.005}, r"85\.9 deg in 0\.004 s is faster than any hobby servo \(2291\.8 deg/s\)"),
        ({"distance": 90.0}, r"distance is 5156\.6 deg, .* at most 360 deg: degrees given as radians\?"),
        ({"distance": -1.5}, r"distance is -85\.9 deg, must be above 0"),
        ({"time_s": math.nan}, "not a finite number"),
        ({"loads": (11.0,)}, r"load is 11 N·m, must be at most 10: are these kilogram-centimetres\?"),
        ({"sd": 0.0}, "standard deviation must be above 0"),
        ({"loads": (0.3,)}, "2 unloaded moves over 2 distances, must be at least 3 over 2"),
    ],
)
def test_readings_that_cannot_be(changes, message):
    moves = [GOOD[0], replace(GOOD[1], **changes), GOOD[2]]
    with raises(InputError, match=message):
        sweep_of(moves)


def test_two_distances_are_enough():
    moves = [replace(move, sd=0.01, time_s=0.2 + move.distance / 6.0) for move in (GOOD[0], GOOD[0], GOOD[2])]
    assert sweep_of(moves).speed.value > 0


LIGHT = [TimedMove(1.5, 0.46, loads=(0.01,)), TimedMove(2.5, 0.6, loads=(0.01,))]


@mark.parametrize(
    "moves, message",
    [
        ([GOOD[0]] * 4, "1 distances, must be at least 3 over 2"),
        ([replace(one, time_s=0.9 - 0.1 * one.distance) for one in GOOD], "longer moves took no longer"),
        ([replace(one, sd=0.2) for one in GOOD], "do not tell the speed, it may be anything above"),
        ([*GOOD, TimedMove(1.5, 0.7, loads=(0.3,))], "one loaded move, must be two or none"),
        ([*GOOD, *LIGHT], "do not tell the stall torque"),
    ],
)
def test_readings_that_do_not_tell(moves, message):
    with raises(InputError, match=message):
        sweep_of(moves)


def test_a_lever_that_never_reaches_full_speed_is_named():
    moves = [TimedMove(s, 0.1 + s / SPEED, 0.002) for s in (0.5, 1.5, 2.5)]
    moves += [TimedMove(s, 0.1 + s / (0.5 * SPEED) + 0.05 * SPEED / 0.8, 0.002, loads=(0.4,), inertia=0.05) for s in (0.4, 0.6)]
    with raises(InputError, match="timed move 4 lasted .* to gather speed: longer moves"):
        sweep_of(moves)
