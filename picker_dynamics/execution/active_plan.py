"""Active plan of an arm: what its reference is from now on if nothing is asked any more.

One trajectory of all joints, the scaling of its time, and the motions of goals that are under way in it.  Goals of different
tracks (arm, gripper) share it, as they were checked together: at less than full speed all of them are slowed alike.  Stops and
streams go by the clock.  A plan never changes: what is asked makes another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.time_scaling import TimeScaling
from picker_dynamics.trajectory.trajectory import Trajectory, delayed, merge_joints, remainder, standing

from .motion import Motion, Phase

State = tuple[Array, Array, Array]
"""q, v, a, (n,) each [rad, rad/s, rad/s²]."""


@dataclass(frozen=True)
class UnderWay:
    """Motion of a goal within the active plan.

    Attributes:
        end_s: when its joints are at their end, in the plan's own time.
        slowed: by how much its rest was slowed for limits that changed.
        cancelled: it comes to rest before its goal.
    """

    motion: Motion
    end_s: float
    slowed: float = 1.0
    cancelled: bool = False

    def left(self, progress: float) -> float:
        """Rest of the motion in the time of its goal [s]."""
        return max(self.end_s - max(progress, 0.0), 0.0) / self.slowed


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

    def progress(self, time_s: float) -> float:
        """Progress in the trajectory at ``time_s`` [s]; negative: it waits."""
        return self.scaling.at(time_s).progress

    def is_over(self, time_s: float) -> bool:
        """Whether every joint is at its end at ``time_s``."""
        return not self.moves or self.progress(time_s) >= self.trajectory.duration

    def state_at(self, time_s: float) -> State:
        """Reference state at ``time_s``."""
        instant = self.scaling.at(time_s)
        return instant.scaled(self.trajectory.sample(instant.progress))

    def own_state(self, time_s: float) -> State:
        """State at ``time_s`` in the plan's own time, as if it were not slowed; at rest where the arm is."""
        q, v, a = self.state_at(time_s)
        return self.trajectory.sample(self.progress(time_s)) if v.any() or a.any() else (q, v, a)

    def rest(self, time_s: float) -> Trajectory:
        """What is left at ``time_s``, in its own time."""
        progress = self.progress(time_s)
        return remainder(self.trajectory, progress) if progress >= 0.0 else delayed(self.trajectory, -progress)

    def later(self, time_s: float, others: Iterable[UnderWay] | None = None) -> tuple[UnderWay, ...]:
        """Motions under way, or ``others``, seen from ``time_s`` on: their ends in the own time of ``rest``."""
        progress = self.progress(time_s)
        return tuple(replace(one, end_s=one.end_s - progress) for one in (self.under_way if others is None else others))

    def after(self, time_s: float) -> tuple[ActivePlan, tuple[UnderWay, ...]]:
        """Return the plan less what is over at ``time_s``, and the motions that came to their end, or to rest if cancelled."""
        if not self.moves:
            return self, ()
        progress, (q, v, _) = self.progress(time_s), self.state_at(time_s)
        at_rest = {one for one in self.under_way if one.cancelled and not v[list(one.motion.joints)].any()}
        finished = tuple(one for one in self.under_way if progress >= one.end_s or one in at_rest)
        if progress >= self.trajectory.duration:
            return ActivePlan.hold(self.trajectory.joint_names, self.trajectory.end), finished
        if not finished:
            return self, ()
        left = replace(self, under_way=tuple(one for one in self.under_way if one not in finished))
        early = [j for one in at_rest if progress < one.end_s for j in one.motion.joints]
        if early and self.scaling.at(time_s).speed == self.scaling.target == 0.0:  # in a pause: they do not go on after it
            still = merge_joints(standing(self.trajectory.joint_names, q), self.rest(time_s), early)
            left = ActivePlan(still, TimeScaling(time_s, 0.0), self.phase, left.later(time_s))
        return left, finished
