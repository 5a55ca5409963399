"""The same tour with each compensation mode, faster than real time: what the arm's true tip does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.demo.scene import Scene
from picker_dynamics.description import ArmDescription
from picker_dynamics.feasibility import Gate
from picker_dynamics.rigid_body import RigidBody
from picker_dynamics.servo_map import ServoMap
from picker_dynamics.sim.closed_loop import SETTLE_S, ClosedLoop, Recording, paths_between
from picker_dynamics.sim.plant import Plant

MODES = ("none", "gravity", "full")


@dataclass(frozen=True)
class ModeResult:
    """One mode over the whole tour: hold errors (k,) [m], tracking error rms [m], and the recording of it all."""

    hold: np.ndarray
    tracking_rms: float
    recording: Recording


def measure(scene: Scene, arm: ArmDescription, servos: ServoMap, plant_error: float, seed: int, show) -> dict[str, ModeResult]:
    """Drive the tour once per mode on one and the same (perturbed) plant."""
    results = {}
    for mode in MODES:
        show.step(f"measuring: {mode}")
        results[mode] = _drive(scene, arm, servos, mode, plant_error, seed)
    return results


def _drive(scene: Scene, arm: ArmDescription, servos: ServoMap, mode: str, plant_error: float, seed: int) -> ModeResult:
    model = RigidBody(arm, armature=servos.armature)
    loop = ClosedLoop(Plant(arm, servos, plant_error=plant_error, seed=seed), model, servos, mode)
    loop.start(scene.home)
    recording, hold, tracking, before, carrying = loop.hold(SETTLE_S), [], [], scene.home, False
    for stop in (stop for stops in scene.picks for stop in stops):
        if stop.carrying != carrying:
            carrying = stop.carrying
            loop.carry(scene.payload_kg if carrying else 0.0)
        gate = Gate(model.with_payload(scene.payload_kg) if carrying else model, servos)
        way = loop.run(paths_between([before, stop.q], gate)[0])
        rest = loop.hold(SETTLE_S)
        tracking.append(way.tip_error)
        hold.append(rest.tip_error[-1])
        recording, before = recording.joined(way).joined(rest), stop.q
    return ModeResult(np.array(hold), float(np.sqrt(np.mean(np.concatenate(tracking) ** 2))), recording)
