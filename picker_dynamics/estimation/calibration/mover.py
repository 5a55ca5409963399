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
JOG_SPEED = 0.3
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
        times = np.append(np.arange(FRAME_S, line.duration, FRAME_S), line.duration)
        self.outputs.play(self.pulses(validator, np.stack([line.sample(float(t))[0] for t in times])))

    def jog(self, validator: MotionValidator, joint: int, by: float) -> None:
        """Jog one joint by an angle [rad] or a length [m], as far as its pulses go, if the servos can bear where that leads.

        Raises:
            LimitError: its pulses end here.
            InfeasibleError: they cannot bear it.
        """
        servos, start = validator.limits.servo_map, self.setpoint(validator)
        lower, upper = self.reach(validator)
        goal = np.array(start)
        goal[joint] = np.clip(start[joint] + by, lower[joint], upper[joint])
        if abs(goal[joint] - start[joint]) < min(1e-3, 0.5 * abs(by)):
            pulse = self.outputs.pulses_us[joint]
            name = servos.joint_names[joint]
            raise LimitError(f"{name}: its pulses end here, at {pulse:.0f} us", subject=name, value=float(pulse))
        validator.validate(turned(validator, start, goal, JOG_SPEED))
        self.line(validator, goal, JOG_SPEED)

    def within_reach(self, validator: MotionValidator, goal) -> np.ndarray:
        """A set-point (n,) [rad], moved to the end of what may be sent where it is a little beyond: a map may have shifted it.

        Raises:
            LimitError: far beyond.
        """
        goal = np.asarray(goal, dtype=float)
        lower, upper = self.reach(validator)
        inside = np.clip(goal, lower, upper)
        paces = validator.limits.servo_map.per_turn
        worst = int((np.abs(goal - inside) / paces).argmax())
        if abs(goal[worst] - inside[worst]) > SHIFTED * paces[worst]:
            servo = validator.limits.servo_map.servos[worst]
            name, slides = servo.joint, servo.slides
            raise LimitError(
                f"{name}: {position(goal[worst], slides, '.1f')} is beyond the pulses that the board was flashed for, "
                f"which end at {position(inside[worst], slides, '.1f')}",
                subject=name,
                value=float(goal[worst]),
                limit=float(inside[worst]),
            )
        return inside

    def reach(self, validator: MotionValidator) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest set-points (n,) [rad] that both the servo map and the board's limits allow."""
        servos = validator.limits.servo_map
        ends = servos.to_angle(np.clip(self._ends, servos.pulse_lower_us, servos.pulse_upper_us))
        lower, upper = np.minimum(*ends), np.maximum(*ends)
        return np.maximum(lower, servos.setpoint_lower), np.minimum(upper, servos.setpoint_upper)

    def pulses(self, validator: MotionValidator, setpoints) -> np.ndarray:
        """Pulses of set-points [rad], (k, n) [us], within the board's limits; NaN for outputs that are off."""
        pulses = validator.limits.servo_map.to_pulse_us(validator.limits.servo_map.clamp(setpoints))
        return np.where(self.live, np.clip(pulses, *self._ends), np.nan)

    @property
    def _ends(self) -> np.ndarray:
        """Smallest and largest pulses that the board was flashed with, (2, n) [us]."""
        return np.array([[one.lowest, one.highest] for one in self.outputs.limits]).T / 8.0
