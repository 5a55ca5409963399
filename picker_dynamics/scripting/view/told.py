"""What a page is told of an arm: thirty times a second where it is, and whenever it changes how it is; plain JSON, SI units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from picker_dynamics.robot.model import Array, DynamicsModel

from .motions import rounded

FRESH_S = 0.5
"""What is older than this is not known any more [s]."""

LONGEST_S = 99.0


@dataclass(frozen=True, eq=False)
class Instant:
    """Instant of an arm, as known, each (n,) [rad, m, N·m or N] with its age [s]; None: not known.

    Attributes:
        state: where the joints are, or are believed to be; reference: where they should be; truth: where a simulated arm is.
        torque: what they have to give.
    """

    state: tuple[Array, float] | None = None
    reference: tuple[Array, float] | None = None
    truth: tuple[Array, float] | None = None
    torque: tuple[Array, float] | None = None


def pose(model: DynamicsModel, seen: Instant, time_s: float) -> dict[str, Any]:
    """Pose of the arm, with the places of its tip, and what that asks of the joints.

    Args:
        model: the arm with what it carries.
        time_s: on any one clock, for curves.
    """
    told: dict[str, Any] = {"t": round(time_s, 3), "age": {}, "q": {}, "tip": {}}
    vectors = {"state": seen.state, "reference": seen.reference, "truth": seen.truth}
    there = {name: one for name, one in vectors.items() if one is not None}
    if there:
        poses = np.stack([values for values, _ in there.values()])
        tips = model.forward_kinematics(poses)
        for (name, (values, age_s)), tip in zip(there.items(), tips):
            told["q"][name], told["tip"][name] = rounded(values), rounded(tip)
            told["age"][name] = round(min(age_s, LONGEST_S), 2)
    if seen.torque is not None and seen.torque[1] < FRESH_S:
        told["torque"], told["torque_of"] = rounded(seen.torque[0]), "command"
    elif seen.state is not None:
        told["torque"], told["torque_of"] = rounded(model.gravity(seen.state[0])), "gravity"
    return told
