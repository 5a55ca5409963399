"""Motions that goals become, and the active plan of an arm: its reference from now on.

One trajectory of all joints, the scaling of its time, and the motions of goals that are under way in it.  Goals of different
tracks (arm, gripper) share it, as they were checked together: at less than full speed all of them are slowed alike.  A goal stops
on its path, by a scaling that ends at 0.  A plan never changes: what is asked makes another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.trajectory.time_scaling import TimeScaling, scaled
from picker_dynamics.trajectory.trajectory import Trajectory, merge_joints, part, standing

from .checks import SampledMotion
from .lease import MAIN_TRACK
from .settle_downward import Approach
from .validator import Validated


class Phase(Enum):
    """Phase of an arm's reference: whether there is one, and what moves it."""

    INACTIVE = "inactive"
    HOLDING = "holding"
    EXECUTING = "executing"
    STOPPING = "stopping"
    STREAMING = "streaming"


@dataclass(frozen=True)
class Reference:
    """One point of the reference; arrays (n,) [rad, rad/s, rad/s²]."""

    time_s: float
    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion that a goal became, or may become.

    Attributes:
        start_s: when it begins.
        validated: the motion of all joints, together with what other tracks do meanwhile, as it was checked.
        target: (m,) positions of the goal's last point [rad].
        track, joints: of the goal; indices of the joints.
        duration_s: until these are at their end, in the trajectory's time.
        approach: how it ends; None: friction does not matter.
    """

    start_s: float
    validated: Validated = field(repr=False)
    target: Array = field(repr=False)
    track: str = MAIN_TRACK
    joints: tuple[int, ...] = ()
    duration_s: float = 0.0
    approach: Approach | None = field(default=None, repr=False)

    @property
    def trajectory(self) -> Trajectory:
        return self.validated.trajectory


State = tuple[Array, Array, Array]
"""q, v, a, (n,) each [rad, rad/s, rad/s²]."""

PERIOD_S = 0.005
"""Spacing of the instants at which a plan is looked at [s]."""


@dataclass(frozen=True)
class UnderWay:
    """Motion of a goal within the active plan.

    Attributes:
        end_s: when its joints are at their end, in the plan's own time.
        cancelled: it comes to rest before its goal.
        slowed: factor by which its rest was slowed for limits that changed.
    """

    motion: Motion
    end_s: float
    cancelled: bool = False
    slowed: float = 1.0


@dataclass(frozen=True, eq=False)
class ActivePlan:
    """Active plan, as a function of the time at which a reference holds; ``under_way``: the newest last."""

    trajectory: Trajectory
    scaling: TimeScaling
    phase: Phase = Phase.HOLDING
    under_way: tuple[UnderWay, ...] = ()

    @classmethod
    def hold(cls, joint_names: Sequence[str], q: ArrayLike) -> ActivePlan:
        """Hold the pose ``q`` (n,) [rad]."""
        return cls(standing(joint_names, q), TimeScaling(0.0))

    @property
    def moves(self) -> bool:
        """Whether there is more to come than a hold."""
        return self.phase is not Phase.HOLDING

    @property
    def ends_s(self) -> float:
        """Time at which the arm is at rest for good [s]; infinite in a pause."""
        settled_s, target = self.scaling.settled_s, self.scaling.target
        left_s = max(self.trajectory.duration - self.progress(settled_s), 0.0)
        return settled_s + (left_s / target if target else 0.0 if self.phase is Phase.STOPPING else np.inf)

    def progress(self, time_s: float) -> float:
        """Progress in the trajectory at ``time_s`` [s]; negative: it waits."""
        return self.scaling.at(time_s).progress

    def is_over(self, time_s: float) -> bool:
        """Whether every joint is at its end at ``time_s``."""
        stopped = self.phase is Phase.STOPPING and not self.scaling.target and time_s >= self.scaling.settled_s
        return not self.moves or stopped or self.progress(time_s) >= self.trajectory.duration

    def state_at(self, time_s: float) -> State:
        """Reference state at ``time_s``."""
        instant = self.scaling.at(time_s)
        return scaled(self.trajectory.sample(instant.progress), instant.speed, instant.rate)

    def sampled(self, model: DynamicsModel, begin_s: float, end_s: float) -> SampledMotion:
        """The reference from one time to another as the checks see it, every ``PERIOD_S``; its times begin at 0."""
        times = np.linspace(begin_s, end_s, max(2, int((end_s - begin_s) / PERIOD_S)))
        instants = [self.scaling.at(time_s) for time_s in times.tolist()]
        progress, speed, rate = np.array([(at.progress, at.speed, at.rate) for at in instants]).T
        q, v, a = scaled(self.trajectory.sample(progress), speed[:, None], rate[:, None])
        return SampledMotion(model, times - begin_s, q, v, a, q[-1], self.trajectory)

    def own_state(self, time_s: float) -> State:
        """State at ``time_s`` in the plan's own time, as if it were not slowed; at rest where the arm is."""
        q, v, a = self.state_at(time_s)
        return self.trajectory.sample(self.progress(time_s)) if v.any() or a.any() else (q, v, a)

    def rest(self, time_s: float) -> Trajectory:
        """What is left at ``time_s``, in its own time."""
        return part(self.trajectory, self.progress(time_s))

    def later(self, time_s: float, chosen: Iterable[UnderWay]) -> tuple[UnderWay, ...]:
        """Motions under way seen from ``time_s`` on: their ends in the own time of ``rest``."""
        progress = self.progress(time_s)
        return tuple(replace(one, end_s=one.end_s - progress) for one in chosen)

    def after(self, time_s: float, q: Array, v: Array) -> tuple[ActivePlan, tuple[UnderWay, ...]]:
        """Return the plan less what is over at ``time_s``, and the motions that came to their end, or to rest if cancelled.

        Args:
            q, v: (n,) reference at that time.
        """
        if not self.moves:
            return self, ()
        progress = self.progress(time_s)
        if self.is_over(time_s):
            return ActivePlan.hold(self.trajectory.joint_names, q), self.under_way
        at_rest = [one for one in self.under_way if one.cancelled and not v[list(one.motion.joints)].any()]
        finished = tuple(one for one in self.under_way if progress >= one.end_s or one in at_rest)
        if not finished:
            return self, ()
        left = replace(self, under_way=tuple(one for one in self.under_way if one not in finished))
        if at_rest and self.scaling.at(time_s).speed == self.scaling.target == 0.0:  # in a pause: they do not go on after it
            stopped = [j for one in at_rest for j in one.motion.joints]
            still = merge_joints(standing(self.trajectory.joint_names, q), self.rest(time_s), stopped)
            left = ActivePlan(still, TimeScaling(time_s, 0.0), self.phase, left.later(time_s, left.under_way))
        return left, finished
