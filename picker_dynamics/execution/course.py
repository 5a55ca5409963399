"""Course of an arm: what its reference is from now on if nothing is asked any more.

It is the pose that is held, and the path that is followed from there: the trajectory of the newest motion, with a ``TimeScaling``
that tells how far it is gone through at a time, and the motions whose joints it moves.  Nothing here changes: what is asked makes
another course.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.time_scaling import TimeScaling

from .motion import Motion, Phase

State = tuple[Array, Array, Array]
"""q, v, a, (n,) each [rad, rad/s, rad/s²]."""


@dataclass(frozen=True, eq=False)
class Course:
    """Course of an arm, as a function of the time at which a reference holds.

    Attributes:
        hold: the pose (n,) that is held until the path begins, or where there is none [rad].
        path: the newest motion, whose trajectory is followed; None: the arm holds.
        scaling: of the path's time; None: it is gone through as fast as it was made.
        under_way: the motions that the path is made of, those that end first to begin with.
        allowed: share of its speed at which the path passes the present limits.
    """

    hold: Array
    path: Motion | None = None
    scaling: TimeScaling | None = None
    under_way: tuple[Motion, ...] = ()
    allowed: float = 1.0

    @property
    def phase(self) -> Phase:
        return Phase.HOLDING if self.path is None else self.path.phase

    def state_at(self, time_s: float) -> State:
        """Reference state at ``time_s``."""
        path = self.path
        if path is None or time_s < path.start_s:
            return self.hold, np.zeros_like(self.hold), np.zeros_like(self.hold)
        if self.scaling is None:
            return path.trajectory.sample(time_s - path.start_s)
        now = self.scaling.at(time_s)
        return now.scaled(path.trajectory.sample(now.progress))

    def own_state_at(self, time_s: float) -> State:
        """The state in the time of the trajectory under way, where that is scaled and not paused, else the reference's."""
        state = self.state_at(time_s)
        if self.path is None or self.path.phase is not Phase.EXECUTING or not (state[1].any() or state[2].any()):
            return state
        return self.path.trajectory.sample(self.progress_at(time_s))

    def progress_at(self, time_s: float) -> float:
        """Progress of the path at ``time_s``, in its trajectory's time [s]; negative: it waits; 0 where there is none."""
        if self.path is None:
            return 0.0
        return time_s - self.path.start_s if self.scaling is None else self.scaling.at(time_s).progress

    def executing(self, time_s: float) -> Motion | None:
        """The path, if it is that of goals and has begun at ``time_s``."""
        path = self.path
        if path is None or path.phase is not Phase.EXECUTING or time_s < path.start_s:
            return None
        return path

    def going_on(self, time_s: float) -> list[Motion]:
        """The motions that would go on at ``time_s`` beside something new."""
        if self.executing(time_s) is None:
            return []
        progress = self.progress_at(time_s)
        return [motion for motion in self.under_way if motion.duration_s > progress]

    def left(self, identifier: str, time_s: float) -> float:
        """Rest of a motion that lies ahead at ``time_s``, in its trajectory's time [s]; 0: over, or displaced."""
        for motion in self.under_way:
            if motion.identifier == identifier:
                return max(motion.duration_s - max(self.progress_at(time_s), 0.0), 0.0)
        return 0.0

    def settled(self, start_s: float) -> Course:
        """Course whose path, if slowed for lower limits, is made for them, so that what joins it obeys them."""
        if self.allowed == 1.0 or self.path is None or start_s < self.path.start_s:
            return self
        factor = 1.0 / self.allowed
        return replace(
            self,
            path=replace(self.path, trajectory=self.path.trajectory.stretched(factor)),
            scaling=(self.scaling or TimeScaling(self.path.start_s)).stretched(factor),
            under_way=tuple(replace(motion, duration_s=motion.duration_s * factor) for motion in self.under_way),
            allowed=1.0,
        )

    def taken_over(self, motion: Motion, scaling: TimeScaling | None, staying: tuple[Motion, ...] = ()) -> Course:
        """The course where ``motion`` takes over with its ``scaling``, beside those that stay.

        One that starts later holds, until then, where the present one is when it starts.
        """
        progress = self.progress_at(motion.start_s)
        others = [replace(one, duration_s=one.duration_s - progress) for one in staying]
        under_way = tuple(sorted([*others, motion], key=lambda one: one.duration_s))
        return replace(self, hold=np.array(self.state_at(motion.start_s)[0]), path=motion, scaling=scaling, under_way=under_way)
