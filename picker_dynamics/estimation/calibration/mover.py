"""Motion of an arm whose numbers are not known well yet: slow, within the torque that it can surely bear, never by itself.

set-point line (quintic, <= TRAVEL_SPEED, <= TRAVEL_ACCELERATION) -> validator -> pulses, one row a servo frame -> outputs
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import LimitError
from picker_dynamics.execution.validator import MotionValidator

from .poses import TRAVEL_SPEED, Weight, turned, way, with_weight
from .readings import position

FRAME_S = 0.02
SHIFTED = 0.2
"""How far a pose may lie beyond the pulses for being moved to their end, as the servo turns [rad]."""
WATCHED_SPEED = 0.3
"""Of the servo of a joint that a person watches [rad/s]."""


class Mover:
    """Moves joints over outputs (``board_bench.BoardOutputs``).

    Set-points are those of the validator's servo map; pulses stay within the board's limits.
    """

    def __init__(self, outputs):
        self.outputs = outputs

    @property
    def live(self) -> np.ndarray:
        """Outputs that run, (n,)."""
        return ~np.isnan(self.outputs.pulses_us)

    def setpoint(self, validator: MotionValidator) -> np.ndarray:
        """Set-point that the outputs hold, (n,) [rad]; the rest pose's for those that are off."""
        servos, pulses = validator.limits.servo_map, self.outputs.pulses_us
        resting = servos.to_pulse_us(servos.clamp(servos.rest))
        return servos.to_angle(np.clip(np.where(self.live, pulses, resting), servos.pulse_lower_us, servos.pulse_upper_us))

    def travel(self, validator: MotionValidator, goal, weight: Weight | None = None) -> None:
        """Travel to a set-point (n,) [rad], straight or by home, as ``poses.way`` has it; ``weight``: that hangs on meanwhile.

        Raises:
            PickerError: no way that can be borne; the board stopped, or is gone.
        """
        validator = with_weight(validator, weight)
        for passed in way(validator, self.setpoint(validator), self.within_reach(validator, goal)):
            self.line(validator, passed, TRAVEL_SPEED)

    def line(self, validator: MotionValidator, goal, speed: float) -> None:
        """Straight to a set-point (n,) [rad]; the validator was asked already."""
        start, goal = self.setpoint(validator), self.within_reach(validator, goal)
        if np.abs(goal - start).max() < 1e-9:
            return
        line = turned(validator, start, goal, speed)
        times, servos = np.append(np.arange(FRAME_S, line.duration, FRAME_S), line.duration), validator.limits.servo_map
        pulses = servos.to_pulse_us(servos.clamp([line.sample(float(t))[0] for t in times]))
        self.outputs.play(np.where(self.live, np.clip(pulses, *self.outputs.ends_us), np.nan))

    def within_reach(self, validator: MotionValidator, goal) -> np.ndarray:
        """A set-point (n,) [rad], moved to the end of what may be sent where it is a little beyond: a map may have shifted it.

        Raises:
            LimitError: far beyond.
        """
        servos = validator.limits.servo_map
        inside = np.clip(goal, *self.reach(validator))
        off = np.abs(goal - inside) / servos.per_turn
        worst = int(off.argmax())
        if off[worst] > SHIFTED:
            servo = servos.servos[worst]
            asked, end = (position(one[worst], servo.slides, ".1f") for one in (goal, inside))
            why = f"{servo.joint}: {asked} is beyond the pulses that the board was flashed for, which end at {end}"
            raise LimitError(why, subject=servo.joint, value=float(goal[worst]), limit=float(inside[worst]))
        return inside

    def reach(self, validator: MotionValidator) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest set-points (n,) [rad] that both the servo map and the board's limits allow."""
        servos = validator.limits.servo_map
        ends = servos.to_angle(np.clip(self.outputs.ends_us, servos.pulse_lower_us, servos.pulse_upper_us))
        return np.maximum(ends.min(axis=0), servos.setpoint_lower), np.minimum(ends.max(axis=0), servos.setpoint_upper)
