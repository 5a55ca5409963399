"""Active plan of an arm: what its reference is from now on if nothing is asked any more.

Each track (arm, gripper) has one motion under way, with joints of its own; joints of nobody hold.  The reference is their
composition.  Motions of goals are gone through in one own time, as they were checked together: at less than full speed all of
them are slowed alike.  Stops and streams go by the clock.  Nothing here changes: what is asked makes another active plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.time_scaling import TimeScaling
from picker_dynamics.trajectory.trajectory import Trajectory, delayed, merge_joints, remainder, standing

from .motion import Motion, Phase

State = tuple[Array, Array, Array]
"""q, v, a, (n,) each [rad, rad/s, rad/s²]."""


@dataclass(frozen=True, eq=False)
class ActivePlan:
    """Active plan, as a function of the time at which a reference holds.

    Attributes:
        joint_names: of the arm.
        hold: the pose (n,) of joints that no motion moves, or that wait for theirs [rad].
        motions: under way, the newest last; no two move one joint.
        scaling: of the own time of goals' motions; None: it is the clock's.
    """

    joint_names: tuple[str, ...]
    hold: Array
    motions: tuple[Motion, ...] = ()
    scaling: TimeScaling | None = None

    @property
    def phase(self) -> Phase:
        phases = {motion.phase for motion in self.motions}
        return next((one for one in (Phase.EXECUTING, Phase.STREAMING, Phase.STOPPING) if one in phases), Phase.HOLDING)

    def own_s(self, time_s: float) -> float:
        """Own time of goals' motions at ``time_s``."""
        return time_s if self.scaling is None else self.scaling.at(time_s).progress

    def progress(self, motion: Motion, time_s: float) -> float:
        """Progress of a motion at ``time_s``, in its trajectory's time [s]; negative: it waits."""
        return self.own_s(time_s) - motion.own_s if motion.phase is Phase.EXECUTING else time_s - motion.start_s

    def is_over(self, time_s: float) -> bool:
        """Whether every motion is at its end at ``time_s``."""
        return all(self.progress(motion, time_s) >= motion.end_s for motion in self.motions)

    def executing(self, time_s: float) -> tuple[Motion, ...]:
        """Motions of goals that are on their way at ``time_s``."""
        return tuple(m for m in self.motions if m.phase is Phase.EXECUTING and self.progress(m, time_s) > 0.0)

    def state_at(self, time_s: float, own: bool = False) -> State:
        """Reference state at ``time_s``; ``own``: in the own time of goals' motions, as if they were not slowed."""
        q, v, a = self.hold.copy(), np.zeros_like(self.hold), np.zeros_like(self.hold)
        for motion in self.motions:
            progress = self.progress(motion, time_s)
            if progress < 0.0:
                continue
            state = motion.trajectory.sample(progress)
            if motion.phase is Phase.EXECUTING and self.scaling is not None and not own:
                state = self.scaling.at(time_s).scaled(state)
            if len(motion.moves) == len(q):
                return state
            columns = list(motion.moves)
            for part, new in zip((q, v, a), state):
                part[columns] = new[columns]
        return q, v, a

    def rest(self, time_s: float, motions: Iterable[Motion] | None = None) -> Trajectory:
        """What is left at ``time_s`` of these motions, all by default, together in their own time; other joints are at rest."""
        made = standing(self.joint_names, self.state_at(time_s)[0])
        for motion in self.motions if motions is None else motions:
            progress = self.progress(motion, time_s)
            left = remainder(motion.trajectory, progress) if progress >= 0.0 else delayed(motion.trajectory, -progress)
            if len(motion.moves) == len(self.joint_names):
                return left
            made = merge_joints(left, made, motion.moves)
        return made

    def left(self, identifier: str, time_s: float) -> float:
        """Rest of a motion that lies ahead at ``time_s``, in the time of its goal [s]; 0: over, or displaced."""
        for motion in self.motions:
            if motion.identifier == identifier and not motion.finished:
                return max(motion.duration_s - max(self.progress(motion, time_s), 0.0), 0.0) / motion.slowed
        return 0.0

    def after(self, time_s: float) -> tuple[ActivePlan, tuple[Motion, ...]]:
        """The active plan less what is over at ``time_s``, and the motions whose own part came to its end."""
        finished, kept, hold = list[Motion](), list[Motion](), self.hold
        for motion in self.motions:
            progress = self.progress(motion, time_s)
            if progress >= motion.duration_s and not motion.finished:
                finished.append(motion)
                motion = replace(motion, finished=True)
            if progress < motion.end_s:
                kept.append(motion)
            else:
                columns, hold = list(motion.moves), hold.copy()
                hold[columns] = motion.trajectory.sample(motion.end_s)[0][columns]
        if not finished and len(kept) == len(self.motions):
            return self, ()
        return replace(self, hold=hold, motions=tuple(kept)), tuple(finished)

    def taken_over(self, motion: Motion, scaling: TimeScaling | None) -> ActivePlan:
        """The active plan where ``motion`` takes over its joints, with the own time's ``scaling``; others keep theirs."""
        hold, moves = self.hold.copy(), set(motion.moves)
        columns = list(motion.moves)
        hold[columns] = self.state_at(motion.start_s)[0][columns]
        others = (replace(one, moves=tuple(j for j in one.moves if j not in moves)) for one in self.motions)
        return replace(self, hold=hold, motions=(*(one for one in others if one.moves), motion), scaling=scaling)

    def on_the_clock(self, time_s: float) -> ActivePlan:
        """The active plan with motions that have not begun at ``time_s``, whose own time is the clock's again."""
        motions = (replace(one, own_s=max(one.start_s, time_s)) for one in self.motions)
        return replace(self, motions=tuple(motions), scaling=None)

    def postponed(self, time_s: float) -> ActivePlan:
        """The active plan with motions that begin at ``time_s`` at the earliest."""
        if all(one.start_s >= time_s for one in self.motions):
            return self
        motions = (
            one if one.start_s >= time_s else replace(one, start_s=time_s, own_s=self.own_s(time_s)) for one in self.motions
        )
        return replace(self, motions=tuple(motions))

    def slowed(self, factor: float, time_s: float) -> ActivePlan:
        """The active plan with goals' motions made anew ``factor`` times as slow in their own time; they are where they were."""
        own_s = self.own_s(time_s)
        motions = (
            replace(
                one,
                trajectory=one.trajectory.stretched(factor),
                own_s=own_s - factor * self.progress(one, time_s),
                duration_s=factor * one.duration_s,
                end_s=factor * one.end_s,
                slowed=factor * one.slowed,
            )
            if one.phase is Phase.EXECUTING
            else one
            for one in self.motions
        )
        return replace(self, motions=tuple(motions))
