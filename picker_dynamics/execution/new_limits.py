"""New limits: holds what is left of an active plan to limits that changed, a piece at a time, as a reference waits for it."""

from __future__ import annotations

from picker_dynamics.errors import PickerError
from picker_dynamics.trajectory.trajectory import head, remainder

from .active_plan import ActivePlan
from .checks import SampledMotion
from .motion import Phase
from .slowing import require_followable
from .validator import MotionValidator

AHEAD_S = 5.0
"""How much of a motion under way is looked at in one go [s]."""


class NewLimits:
    """Remembers what was looked at; limits are the same while the validator is the same object."""

    def __init__(self) -> None:
        self._passed_by: MotionValidator | None = None
        self._looked: tuple[MotionValidator | None, float] = None, 0.0  # for whom, and how far in the active plan's own time

    def passed(self, validator: MotionValidator) -> None:
        """Note that this validator has just let the whole active plan pass."""
        self._passed_by = validator

    def are_due(self, validator: MotionValidator | None) -> bool:
        """Whether something of the active plan is left to be looked at for these limits."""
        return validator is not self._passed_by

    def excess(self, active: ActivePlan, validator: MotionValidator | None, time_s: float) -> PickerError | None:
        """Why the active plan does not pass from ``time_s`` on, in its next piece; None: it may go on so far.

        Args:
            validator: of the present limits; None: the payload is not known.
        """
        phase = active.phase
        if phase is Phase.EXECUTING and validator is not None:
            return self._of_motions(active, validator, time_s)
        self._passed_by = validator
        if validator is None:
            at_rest = phase in (Phase.HOLDING, Phase.STOPPING)
            return None if at_rest else PickerError("the payload is not known any more", "payload")
        try:
            if phase is Phase.STREAMING:
                require_followable(validator, *active.state_at(time_s))
            else:
                validator.require_holdable(active.rest(time_s).end)
        except PickerError as error:
            return error
        return None

    def _of_motions(self, active: ActivePlan, validator: MotionValidator, time_s: float) -> PickerError | None:
        rest, now_s, newest = active.rest(time_s), active.own_s(time_s), active.motions[-1]
        looked_for, looked_s = self._looked
        begin_s = max(looked_s, now_s) if looked_for is validator else now_s
        piece = head(remainder(rest, begin_s - now_s), AHEAD_S)
        stretch = newest.slowed * (1.0 if newest.validated is None else newest.validated.factor)
        motion = SampledMotion.along(piece, validator.model, validator.period_s, begin_s - newest.own_s, stretch)
        motion.rest, motion.rest_s = rest.end, (now_s - newest.own_s + rest.duration) / stretch
        broken = next((usage for usage in validator.usages(motion) if usage.broken), None)
        self._looked = validator, begin_s + AHEAD_S
        if broken is not None or begin_s + AHEAD_S >= now_s + rest.duration:
            self._passed_by = validator
        return None if broken is None else broken.refusal()
