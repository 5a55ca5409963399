"""Closed-loop measurement of the demo's tour with each compensation mode, faster than real time: what the arm's true tip does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.closed_loop import SETTLE_S, ClosedLoop, Recording, endings
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.scripting.legs import Leg
from picker_dynamics.scripting.steps import Payload
from picker_dynamics.sim.plant import Plant

from .scene import Scene

MODES = ("none", "gravity", "full")


@dataclass(frozen=True)
class Began:
    """A motion: the rows of the recording with which it begins, rests, and is over, and what is on the tool [kg]."""

    row: int
    rests: int
    over: int
    payload_kg: float


@dataclass(frozen=True)
class ModeResult:
    """Result of one mode over the tour: hold errors (k,) [m], tracking error rms [m], the recording of it all, its motions."""

    hold: np.ndarray
    tracking_rms: float
    recording: Recording
    legs: list[Began]


def measured(scene: Scene, arm: ArmDescription, servos: ServoMap, mode: str, plant_error: float, seed: int) -> ModeResult:
    """Drive the tour in one mode, on one and the same simulated arm, which differs from what the controller believes."""
    plant, model = Plant(arm, servos, plant_error=plant_error, seed=seed), RigidBody(arm, armature=servos.armature)
    loop = ClosedLoop(plant, model, servos, mode, ends=endings(arm, model, servos))
    loop.start(servos.home)
    recording, hold, tracking, legs = loop.hold(SETTLE_S), [], [], list[Began]()
    for way in driven(loop, scene):
        rest = loop.hold(SETTLE_S)
        tracking.append(way.tip_error)
        hold.append(rest.tip_error[-1])
        begin, rests = len(recording.t), len(recording.t) + len(way.t)
        recording = recording.joined(way).joined(rest)
        legs.append(Began(begin, rests, len(recording.t), plant.payload))
    tracked = float(np.sqrt(np.mean(np.concatenate(tracking) ** 2)))
    return ModeResult(np.array(hold), tracked, recording, legs)


def driven(loop: ClosedLoop, scene: Scene) -> Iterator[Recording]:
    """Make the tour's motions, what is picked on the tool; yields each that was made."""
    legs: Iterator[Leg] = (leg for legs in scene.picks for leg in legs)
    for leg in legs:
        if isinstance(leg.step, Payload):
            loop.set_payload(leg.step.mass)
        if leg.moves:
            trajectory = leg.plan.motion.trajectory
            assert trajectory is not None
            yield loop.run(trajectory, stands=leg.path is not None)
