"""Sweep step: speed and stall torque of a servo off the arm, from timed moves, for who doubts the data sheet.

The servo lies clamped on the table with a lever on its horn; the board sends it past a mark as fast as it goes, and a video
tells how long that took.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.units import quantity

from .. import readings
from ..arm_estimate import ArmEstimate
from ..measured import NORMAL_95
from ..mover import FRAME_S
from ..servo_figures import horn_slope
from ..step_context import LeaveError, StepContext
from ..sweep import BEYOND_RAD, Sweep, TimedMove, lever_loads, timed_sweep, video_sd

NAME, TITLE, MINUTES = "sweep", "speed and stall torque from timed moves (may be skipped)", 15
DISTANCES = tuple(math.radians(degrees) for degrees in (40.0, 80.0, 120.0))
LEVER_MAX, BARE, LOADED = 0.3, 2, 3
"""Longest lever [m]; moves over each distance without, and over the longest with a weight."""
LAYING = -math.pi / 2.0
"""Elevation of the lever where a loaded move begins: it hangs down [rad]."""


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Timed moves of as many servos as somebody wants to look at."""
    names, sweeps = estimate.servos.joint_names, {}
    context.explain(
        "Speed and stall torque come from the data sheet so far. To measure one servo: take it off the arm, clamp it "
        "to "
        "the table, a lever of 10 to 20 cm on its horn, and film it at 60 frames a second or more."
    )
    for number in range(len(names)):
        words = (("skip", "no more"), *((name, f"of {name}") for name in names if name not in sweeps))
        name = context.choose(f"{number}.joint", "Which joint's servo?", words)
        if name == "skip":
            break
        sweeps[name] = _sweep(context, estimate, name)
        speed, half = (math.degrees(one) for one in (sweeps[name].speed.value, NORMAL_95 * sweeps[name].speed.sd))
        told = [f"{speed:.0f} ± {half:.0f} deg/s without load"]
        if sweeps[name].stall is not None:
            told.append(f"stall {sweeps[name].stall.value:.2f} ± {NORMAL_95 * sweeps[name].stall.sd:.2f} N·m")
        context.tell(f"{name}: {', '.join(told)}", "good")
    return replace(estimate, sweeps=sweeps)


def _sweep(context: StepContext, estimate: ArmEstimate, name: str) -> Sweep:
    servo = estimate.servos.servos[estimate.servos.joint_names.index(name)]
    fps = context.read(f"{name}.fps", "Frames a second of the video:", _frames)
    mass = context.read(
        f"{name}.mass", "A weight on the lever's end, to tell the stall torque, 0 for none [g]:", _weight, about=(name,)
    )
    lever = (
        context.read(
            f"{name}.lever",
            "How far from the horn's axis does it hang [mm]?",
            lambda text: readings.length("lever", text, LEVER_MAX),
        )
        if mass
        else 0.0
    )
    while True:
        moves = [_move(context, estimate, name, f"bare.{i}", DISTANCES[i % 3], (), fps) for i in range(3 * BARE)]
        if mass:
            loads = lever_loads(mass, lever, LAYING, LAYING + DISTANCES[-1])
            moves += [
                replace(
                    _move(context, estimate, name, f"loaded.{i}", DISTANCES[-1], loads, fps),
                    inertia=servo.armature * servo.per_turn**2 + mass * lever**2,
                )
                for i in range(LOADED)
            ]
        try:
            return timed_sweep(name, moves)
        except InputError as error:
            context.tell(f"{error}  Once more.", "warning")
            for key in ("bare.", "loaded."):
                context.forget(f"{name}.{key}")


def _move(context: StepContext, estimate: ArmEstimate, name: str, key: str, distance: float, loads, fps: float) -> TimedMove:
    joint = estimate.servos.joint_names.index(name)
    servo, hung = estimate.servos.servos[joint], "with the weight on" if len(loads) else "lever bare"
    if context.known(f"{name}.{key}") is None:
        start, beyond = servo.pulses_us[0] + 100.0, (distance + BEYOND_RAD) * servo.per_turn / horn_slope(servo)
        _send(context, joint, name, start)
        begin = "hanging straight down" if len(loads) else "where it is"
        context.wait_for(
            f"{name}.{key}.go",
            f"{name}, {hung}, {begin}: it will pass {math.degrees(distance):.0f} deg from here, "
            "fast, and go 20 deg beyond. Does the camera run, and are hands away?",
            about=(name,),
        )
        _send(context, joint, name, start + beyond, at_once=True)
    time_s = context.read(
        f"{name}.{key}",
        f"Frames, or seconds (0.25 s), from the first motion until {math.degrees(distance):.0f} deg:",
        lambda text: _time(text, fps),
        about=(name, distance, loads, fps),
    )
    return TimedMove(distance, time_s, video_sd(fps), loads)


def _send(context: StepContext, joint: int, name: str, pulse: float, at_once: bool = False) -> None:
    """One servo to a pulse, the others stay as they are; ``at_once``: the board holds its set-points to a speed, so it is
    switched off, and on again there."""
    mover = context.port()
    context.take_over()
    if not mover.live[joint]:
        if not context.agree(
            f"on.{name}",
            f"Is the servo of {name} OFF the arm, clamped, its lever free to turn? Then it is switched on.",
            about=(name,),
        ):
            raise LeaveError(f"{name} was not switched on")
        mover.outputs.switch_on(joint, pulse)
    row, limits = mover.outputs.pulses_us, mover.outputs.limits[joint]
    row[joint] = float(np.clip(pulse, limits.lowest / 8.0, limits.highest / 8.0))
    if at_once:
        mover.outputs.switch_off(joint)
        mover.outputs.switch_on(joint, row[joint])
    mover.outputs.play(np.repeat(row[None], math.ceil(1.0 / FRAME_S), axis=0))


def _frames(text: str) -> float:
    value = quantity("frames a second", text, {"fps": 1.0}, "fps")
    refuse_if(not 24.0 <= value <= 1000.0, f"{value:g} frames a second, must be 24 to 1000", "fps", value, 24.0)
    return value


def _weight(text: str) -> float:
    return 0.0 if re.fullmatch(r"\s*0\s*(g|kg)?\s*", text) else readings.mass("weight", text)


def _time(text: str, fps: float) -> float:
    value = quantity("time", text, {"frames": 1.0 / fps, "frame": 1.0 / fps, "s": 1.0, "ms": 1e-3}, "frames")
    refuse_if(not 0.02 < value < 5.0, f"{value:g} s, must be 0.02 to 5: frames or seconds?", "time", value, 5.0)
    return value
