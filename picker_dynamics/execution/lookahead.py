"""Look-ahead: holds what is left of a course to limits that changed, a piece at a time, as the next reference waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from picker_dynamics.errors import PickerError
from picker_dynamics.trajectory.trajectory import head, remainder

from .checks import SampledMotion
from .course import Course
from .motion import Motion, Phase
from .slowing import require_followable
from .validator import MotionValidator

AHEAD_S = 5.0
"""How much of a motion under way is looked at in one go [s]."""


@dataclass(frozen=True)
class Found:
    """Demand of the present limits on a course that was made for others.

    Attributes:
        why: what does not pass.
        speed: share of its speed at which it does; 0: it has to stop, or stands where it cannot.
    """

    why: PickerError
    speed: float = 0.0


class LookAhead:
    """Remembers what was looked at; limits are the same while the validator is the same object."""

    def __init__(self) -> None:
        self._passed_by: MotionValidator | None = None
        self._looked: tuple[MotionValidator | None, float] = None, 0.0  # how far, and for whom

    def passed(self, validator: MotionValidator) -> None:
        """Note that this validator has just let the whole course pass."""
        self._passed_by = validator

    def is_due(self, validator: MotionValidator | None) -> bool:
        """Whether something of the course is left to be looked at for these limits."""
        return validator is not self._passed_by

    def look(self, course: Course, validator: MotionValidator | None, time_s: float) -> Found | None:
        """Look at the course from ``time_s`` on, or at its next piece; None: it may go on so far.

        Args:
            validator: of the present limits; None: the payload is not known.
        """
        path = course.path
        if path is not None and path.phase is Phase.EXECUTING and validator is not None:
            return self._look_at_path(course, path, validator, time_s)
        self._passed_by = validator
        if validator is None:
            at_rest = path is None or path.phase is Phase.STOPPING
            return None if at_rest else Found(PickerError("the payload is not known any more", subject="payload"))
        try:
            if path is None or path.phase is Phase.STOPPING:
                validator.require_holdable(course.hold if path is None else path.trajectory.end)
            else:
                require_followable(validator, *course.state_at(time_s))
        except PickerError as error:
            return Found(error)
        return None

    def _look_at_path(self, course: Course, path: Motion, validator: MotionValidator, time_s: float) -> Found | None:
        looked_for, begin = self._looked
        if looked_for is not validator:
            begin = max(course.progress_at(time_s), 0.0)
        piece = head(remainder(path.trajectory, begin), AHEAD_S)
        stretch = 1.0 if path.validated is None else path.validated.factor
        motion = SampledMotion.along(piece, validator.model, validator.period_s, begin, stretch)
        motion.rest, motion.rest_s = path.trajectory.end, path.trajectory.duration / stretch
        try:
            speed, why = validator.largest_speed(motion)
        except PickerError as error:
            self._passed_by = validator
            return Found(error)
        self._looked = validator, begin + AHEAD_S
        if begin + AHEAD_S >= path.trajectory.duration:
            self._passed_by = validator
        return None if why is None or speed >= course.allowed else Found(why, speed)
