"""Motions that a page asks for: targets and paths as the commands make them, checked as the controller will check them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from picker_dynamics.errors import InfeasibleError, InputError, LimitError, PickerError
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.execution.waypoints import Waypoint, motion_through
from picker_dynamics.robot.kinematic_tree import tip_way
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.tip_target import TipSteps, tip_target
from picker_dynamics.trajectory.trajectory import Trajectory, through

from ..equipment import Equipment
from ..plan import planned
from ..target import asked_duration, joint_target
from .asked import Motion, Step, ToJoints, ToTip

STEP_S, STEP_M_S = 0.3, 0.1
"""A step takes so long, or its tip goes at this mean speed."""

SAMPLES = 40
"""Of a path that is shown, at most."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """A motion from rest to rest: to ``target`` (n,) [rad or m] within ``duration_s``, or along ``path``; or of the ``gripper``
    alone, a joint's number, there or where what it grips stops it."""

    target: Array
    duration_s: float
    path: Trajectory | None = None
    gripper: int | None = None


class Motions:
    """Makes and checks motions of one arm.

    Args:
        known: the arm.
    """

    def __init__(self, known: Equipment):
        self._steps, self._lock = TipSteps(known.description), threading.Lock()
        self.hold_clear(known)

    def hold_clear(self, known: Equipment) -> None:
        """Hold the arm clear of other things from now on."""
        self.known, self._validator = known, lru_cache(maxsize=2)(known.validator)

    def wanted(self, asked: Motion, held: Array, payload: float, tip_speed: float | None = None) -> Wanted:
        """Motion that is asked for, from the pose ``held`` (n,) [rad or m].

        Args:
            payload: that the tool carries [kg].
            tip_speed: that the controller allows [m/s]; None: the default.

        Raises:
            UnreachableError: no pose has the tip there.
            LimitError, InfeasibleError: a straight line that may not be followed.
            InputError: numbers or names that make no sense.
        """
        arm = self.known.description
        within = np.clip(held, arm.lower, arm.upper)
        if isinstance(asked, ToTip) and asked.straight:
            checks = self.validator(payload, tip_speed)
            path = motion_through(within, [Waypoint(asked.at, pitch=asked.pitch, straight=True)], checks, arm)
            return Wanted(path.end, path.duration, path)
        target = self._target(asked, within)
        if isinstance(asked, Step):
            return Wanted(target, max(STEP_S, tip_way(arm, within, target) / STEP_M_S))
        return Wanted(target, asked_duration(arm, within, target))

    def check(self, asked: Motion, held: Array, payload: float, tip_speed: float | None = None) -> dict[str, Any]:
        """Check of a motion, as JSON: where it leads, how long it takes, what it costs, or why it is refused."""
        arm, still = self.known.description, np.zeros(self.known.description.n)
        try:
            wanted = self.wanted(asked, held, payload, tip_speed)
        except (InputError, LimitError, InfeasibleError) as error:
            return {"possible": False, "q": None, **refusal(error)}
        path = wanted.path
        if path is None:
            begin = (np.clip(held, arm.lower, arm.upper), still, still)
            path = through([wanted.duration_s], [(wanted.target, still, still)], joint_names=arm.joint_names, start=begin)
        with self._lock:  # one at a time: it is a core's work
            plan = planned(self.validator(payload, tip_speed), path)
        way = path.sample(np.linspace(0.0, path.duration, SAMPLES))[0]
        tips = self.known.model().forward_kinematics(way)
        return {
            "possible": plan.possible,
            "q": rounded(wanted.target),
            "duration_s": round(plan.duration, 2),
            "slowed": round(plan.slowed, 2),
            "margins": {name: round(value, 3) for name, value in plan.margins.items()},
            "way": [rounded(tip) for tip in tips],
            **({} if plan.refusal is None else refusal(plan.refusal)),
        }

    def validator(self, payload: float, tip_speed: float | None) -> MotionValidator:
        """Validator like the controller's, for this payload."""
        return self._validator(payload, tip_speed)

    def _target(self, asked: Motion, within: Array) -> Array:
        arm = self.known.description
        if isinstance(asked, ToJoints):
            return joint_target(arm, within, asked.to)
        if isinstance(asked, ToTip):
            return tip_target(arm, asked.at, near=within, pitch_rad=asked.pitch)
        if asked.tip or asked.pitch:
            return self._steps.target(within, asked.tip or (0.0, 0.0, 0.0), asked.pitch)
        now = dict(zip(arm.joint_names, within.tolist()))
        return joint_target(arm, within, {asked.joint: now.get(asked.joint, 0.0) + asked.by})


def refusal(error: PickerError) -> dict[str, Any]:
    """Refusal as JSON: why, in the validator's words, and which joint it is about."""
    return {"why": str(error), "subject": error.subject, "time_s": getattr(error, "time_s", None)}


def rounded(values: Array) -> list[float]:
    """Numbers as a page needs them: tenths of a milliradian, and of a millimetre, ten times finer."""
    return [round(float(value), 5) for value in values]
