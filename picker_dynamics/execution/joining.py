"""Joining: how a motion of some joints begins where an arm is on its way, beside what the other joints do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.trajectory.trajectory import Trajectory, merge_joints, remainder, select_joints, standing

from .course import Course, State
from .goal import ParsedGoal
from .motion import Motion
from .slowing import Slowing


@dataclass(frozen=True, eq=False)
class Joining:
    """A goal that joins a course.

    Attributes:
        goal: what is asked.
        state: in which its joints begin, (k,) each.
        others: the motion of all joints as it would be without the goal's.
        staying: the motions that go on beside it.
    """

    goal: ParsedGoal
    state: State
    others: Trajectory
    staying: tuple[Motion, ...]

    @property
    def whole(self) -> bool:
        """Whether the goal has all joints."""
        return len(self.goal.joints) == self.others.n

    def build(self, factor: float) -> Trajectory:
        """The motion of all joints, for a factor on the goal's duration."""
        path = self.goal.trajectory(self.state, factor)
        return path if self.whole else merge_joints(path, self.others, self.goal.joints)


def joined(course: Course, goal: ParsedGoal, start_s: float, slowing: Slowing) -> Joining:
    """Joining of a goal to a course at ``start_s``: what has its track or one of its joints has to make way."""
    own = set(goal.joints.tolist())
    staying = tuple(m for m in course.going_on(start_s) if m.track != goal.track and not set(m.joints) & own)
    others = others_beside(course, own, staying, start_s, slowing)
    q, v, a = course.own_state_at(start_s)
    return Joining(goal, (q[goal.joints], v[goal.joints], a[goal.joints]), others, staying)


def others_beside(
    course: Course, joints: Iterable[int], staying: Sequence[Motion], start_s: float, slowing: Slowing
) -> Trajectory:
    """Trajectory of the joints that are not ``joints``: they go on with the motions that stay, or come to rest."""
    q, v, a = course.own_state_at(start_s)
    free = np.ones(len(q), dtype=bool)
    free[list(joints)] = False
    kept = sorted({joint for motion in staying for joint in motion.joints})
    free[kept] = False
    others = standing(slowing.description.joint_names, q)
    if v[free].any() or a[free].any():
        others = slowing.stop((q, np.where(free, v, 0.0), np.where(free, a, 0.0)))
    if kept and course.path is not None:
        rest = remainder(course.path.trajectory, course.progress_at(start_s))
        others = merge_joints(select_joints(rest, kept), others, kept)
    return others
