"""Closed-loop measurement of the demo's tour with each compensation mode, faster than real time: what the arm's true tip does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.calibration.evaluate import exact
from picker_dynamics.estimation.closed_loop import SETTLE_S, ClosedLoop, Recording, endings
from picker_dynamics.execution.approach import Approach
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.scripting.replay import Leg
from picker_dynamics.scripting.taught import Payload
from picker_dynamics.sim.plant import Plant

from .estimates import Sides
from .scene import Scene

MODES = ("none", "gravity", "full")


@dataclass(frozen=True)
class ModeResult:
    """Result of one mode over the tour: hold errors (k,) [m], tracking error rms [m], the recording of it all, and its motions.

    ``motions``: (k,) what each was for, its duration [s], and how it ended; ``legs``: (k,) when it was begun.
    """

    hold: np.ndarray
    tracking_rms: float
    recording: Recording
    names: tuple[str, ...] = ()
    motions: list[tuple[str, float, Approach | None]] = field(default_factory=list)
    legs: list[Began] = field(default_factory=list)


@dataclass(frozen=True)
class Began:
    """A motion: the rows of the recording with which it begins, rests, and is over, and what is on the tool [kg]."""

    row: int
    rests: int
    over: int
    payload_kg: float


def measure(scene: Scene, sides: Sides, show) -> dict[str, ModeResult]:
    """Drive the tour once per mode on one and the same (perturbed) plant."""
    results = {}
    for mode in MODES:
        show.step(f"measuring: {mode}")
        results[mode] = _drive(scene, _plant(sides), *sides.believed, mode)
    return results


def measure_tip_errors(scene: Scene, sides: Sides, show) -> dict[str, ModeResult]:
    """Drive the tour with the numbers as shipped and as configured, and with the arm's own, which nobody knows: the floor."""
    others = {"shipped": sides.shipped, "configured": sides.configured, "floor": exact(_plant(sides), sides.configured[1])}
    results = {}
    for name, numbers in others.items():
        show.step(f"measuring: {name} numbers")
        results[name] = _drive(scene, _plant(sides), *numbers, "full")
    return results


def _plant(sides: Sides) -> Plant:
    return Plant(*sides.true, plant_error=sides.plant_error, seed=sides.seed)


def _drive(scene: Scene, plant: Plant, arm: ArmDescription, servos: ServoMap, mode: str) -> ModeResult:
    model = RigidBody(arm, armature=servos.armature)
    loop, motions = ClosedLoop(plant, model, servos, mode, ends=endings(arm, model, servos)), list[tuple]()
    loop.start(scene.home)
    recording, hold, tracking, legs = loop.hold(SETTLE_S), [], [], list[Began]()
    for leg, way in driven(loop, scene):
        motions.append((leg.name, loop.reference.duration, loop.approaches[-1]))
        rest = loop.hold(SETTLE_S)
        tracking.append(way.tip_error)
        hold.append(rest.tip_error[-1])
        begin, rests = len(recording.t), len(recording.t) + len(way.t)
        recording = recording.joined(way).joined(rest)
        legs.append(Began(begin, rests, len(recording.t), plant.payload))
    tracked = float(np.sqrt(np.mean(np.concatenate(tracking) ** 2)))
    return ModeResult(np.array(hold), tracked, recording, arm.joint_names, motions, legs)


def driven(loop: ClosedLoop, scene: Scene) -> Iterator[tuple[Leg, Recording]]:
    """Make the tour's motions, what is picked on the tool; each leg that moves, after it was made."""
    for leg in (leg for legs in scene.picks for leg in legs):
        if isinstance(leg.step, Payload):
            loop.set_payload(leg.step.mass)
        if leg.moves:
            yield leg, loop.run(leg.plan.motion.trajectory, stands=leg.path is not None)
