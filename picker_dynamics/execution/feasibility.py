"""The torque gate: whether the servos can do a motion, asked before it starts.

Along the motion, every ``period_s`` and on both sides of every break:

    |tau_d| <= peak_share tau_stall            torque              tau_d = M a + C v + g + F(v)
    |tau_d + D v_d| <= tau_stall               torque and speed together: what the servo's spring must give
    q_cmd inside the pulse range               q_cmd = q_d + compensation

and where it ends, |g(q_end)| <= hold_share tau_stall.  The payload is part of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from picker_dynamics.errors import InfeasibleError, InputError, JointNamesError, LimitError
from picker_dynamics.robot.model import DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.trajectory.trajectory import Trajectory

MAX_STRETCH = 10.0
"""Slowest that ``stretch`` makes a motion, as a factor on its duration."""

MIN_SAMPLES = 100
"""Samples along a short motion, where ``period_s`` would take fewer."""

STRETCH_RESOLUTION = 1e-3
"""Relative width to which the bisection narrows the factor."""


@dataclass(frozen=True, eq=False)
class FeasibilityReport:
    """A motion that passed the gate, and by how much.

    Attributes:
        trajectory: the motion, slowed by ``factor`` (1: as asked).
        times: (s,) [s].
        torque: (s, n) tau_d at those times [N·m].
        hold_torque: (n,) torque at the end pose [N·m].
        peak_limit, hold_limit: (n,) allowed torques [N·m].
        share: (n,) largest use of an allowance per joint; 1 is the limit.
        worst_joint, worst_time_s: where the motion is closest to its limit.
    """

    trajectory: Trajectory = field(repr=False)
    factor: float
    times: np.ndarray = field(repr=False)
    torque: np.ndarray = field(repr=False)
    hold_torque: np.ndarray
    peak_limit: np.ndarray
    hold_limit: np.ndarray
    share: np.ndarray
    worst_joint: str
    worst_time_s: float

    @property
    def peak_torque(self) -> np.ndarray:
        """(n,) largest |tau_d| along the motion [N·m]."""
        return np.abs(self.torque).max(axis=0)

    @property
    def margin(self) -> np.ndarray:
        """(n,) what is left of each joint's allowance, as a share of it."""
        return 1.0 - self.share


@dataclass(frozen=True, eq=False)
class Gate:
    """Checks motions of ``model`` against the servos of ``servo_map``.

    Frozen: ``dataclasses.replace(gate, model=...)`` for another payload.

    Args:
        model: the arm with its present payload.
        servo_map: of the same joints, in the same order.
        period_s: largest distance of the samples [s].
    """

    model: DynamicsModel
    servo_map: ServoMap
    period_s: float = 0.01

    def __post_init__(self):
        if self.model.joint_names != self.servo_map.joint_names:
            raise JointNamesError(
                f"the model's joints are {', '.join(self.model.joint_names)}, "
                f"the servo map's {', '.join(self.servo_map.joint_names)}"
            )
        if not self.period_s > 0.0:
            raise InputError(f"period_s is {self.period_s}, must be > 0", subject="period_s", value=self.period_s, limit=0.0)

    @property
    def peak_limit(self) -> np.ndarray:
        """(n,) torque allowed along a motion [N·m]."""
        return self.servo_map.peak_share * self.servo_map.stall_torque

    @property
    def hold_limit(self) -> np.ndarray:
        """(n,) torque allowed where a motion ends [N·m]."""
        return self.servo_map.hold_share * self.servo_map.stall_torque

    def check(self, trajectory: Trajectory, *, stretch: bool = False) -> FeasibilityReport:
        """Let the motion pass, or say why not.

        Args:
            stretch: slow it by the smallest factor, up to ``MAX_STRETCH``, with which it passes.  Only for a
                motion that starts from rest: another's first velocity is given.

        Raises:
            InfeasibleError: torque, naming joint, time, torque and limit.
            LimitError: a set-point outside the pulse range.
            InputError: ``stretch`` of a motion that starts moving.
        """
        if not stretch:
            return self._checked(trajectory, 1.0)
        speed = np.abs(trajectory.sample(0.0)[1])
        if speed.max() > 1e-9:
            joint = trajectory.joint_names[int(speed.argmax())]
            raise InputError(
                f"{joint} starts at {speed.max():.3g} rad/s: only a motion from rest can be slowed",
                subject=joint,
                value=float(speed.max()),
                limit=0.0,
            )
        try:
            return self._checked(trajectory, 1.0)
        except (InfeasibleError, LimitError):
            report = self._attempt(trajectory, MAX_STRETCH)
            if report is None:
                raise
        low, high = 1.0, MAX_STRETCH
        while high / low > 1.0 + STRETCH_RESOLUTION:
            middle = (low * high) ** 0.5
            attempt = self._attempt(trajectory, middle)
            if attempt is None:
                low = middle
            else:
                high, report = middle, attempt
        return report

    def check_point(self, q, v, a) -> np.ndarray:
        """Check one sample of a stream, which may stop at any of them: each must be one that can be held.

        Args:
            q, v, a: (n,) each.

        Returns:
            tau_d, (n,) [N·m].

        Raises:
            InfeasibleError, LimitError: as ``check``; time is 0.
        """
        q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
        tau = self.model.required_torque(q, v, a)
        self._require_hold(self.model.gravity(q), 0.0)
        self._require_motion(np.zeros(1), q[None], v[None], tau[None])
        return tau

    def _attempt(self, trajectory: Trajectory, factor: float) -> FeasibilityReport | None:
        try:
            return self._checked(trajectory.stretched(factor), factor)
        except (InfeasibleError, LimitError):
            return None

    def _checked(self, trajectory: Trajectory, factor: float) -> FeasibilityReport:
        if trajectory.joint_names != self.model.joint_names:
            raise JointNamesError(
                f"the trajectory's joints are {', '.join(trajectory.joint_names)}, "
                f"the model's {', '.join(self.model.joint_names)}"
            )
        times, q, v, a = trajectory.grid(min(self.period_s, trajectory.duration / MIN_SAMPLES))
        tau = self.model.required_torque(q, v, a)
        hold = self.model.gravity(trajectory.end)
        self._require_hold(hold, trajectory.duration)
        self._require_motion(times, q, v, tau)
        peak_use, hold_use = np.abs(tau) / self.peak_limit, np.abs(hold) / self.hold_limit
        share = np.maximum(peak_use.max(axis=0), hold_use)
        j = int(share.argmax())
        worst_time = trajectory.duration if hold_use[j] == share[j] else times[int(peak_use[:, j].argmax())]
        return FeasibilityReport(
            trajectory,
            factor,
            times,
            tau,
            hold,
            self.peak_limit,
            self.hold_limit,
            share,
            self.model.joint_names[j],
            float(worst_time),
        )

    def _share_text(self, limit: float, share: float) -> str:
        return f"allowed {limit:.2f} ({share:.2f} of {limit / share:.2f} stall)"

    def _require_hold(self, tau: np.ndarray, time_s: float) -> None:
        j = int((np.abs(tau) - self.hold_limit).argmax())
        joint, value, limit = self.model.joint_names[j], float(abs(tau[j])), float(self.hold_limit[j])
        if value > limit:
            text = self._share_text(limit, self.servo_map.hold_share[j])
            raise InfeasibleError(
                f"{joint} needs {value:.2f} N·m to hold its pose at {time_s:.2f} s, {text}",
                subject=joint,
                value=value,
                limit=limit,
                time_s=time_s,
            )

    def _require_motion(self, times, q, v, tau) -> None:
        servo, names = self.servo_map.model, self.model.joint_names
        k, j, first = _worst(np.abs(tau) - self.peak_limit, times)
        if first is not None:
            value, limit = float(abs(tau[k, j])), float(self.peak_limit[j])
            text = self._share_text(limit, self.servo_map.peak_share[j])
            raise InfeasibleError(
                f"{names[j]} needs {value:.2f} N·m at {times[k]:.2f} s, {text}, too much from {first:.2f} s on",
                subject=names[j],
                value=value,
                limit=limit,
                time_s=first,
            )
        u = servo.spring_demand(v, tau)
        k, j, first = _worst(np.abs(u) - servo.stall_torque, times)
        if first is not None:
            value, limit = float(abs(u[k, j])), float(servo.stall_torque[j])
            raise InfeasibleError(
                f"{names[j]} is too fast: {abs(v[k, j]):.2f} rad/s with {abs(tau[k, j]):.2f} N·m "
                f"at {times[k]:.2f} s needs {value:.2f} N·m of its motor, stall is {limit:.2f} "
                f"({self.servo_map.no_load_speed[j]:.2f} rad/s without load)",
                subject=names[j],
                value=value,
                limit=limit,
                time_s=first,
            )
        q_cmd = servo.setpoint(q, v, tau)
        lower, upper = self.servo_map.setpoint_lower, self.servo_map.setpoint_upper
        k, j, first = _worst(np.maximum(lower - q_cmd, q_cmd - upper), times)
        if first is not None:
            value, limit = float(q_cmd[k, j]), float(lower[j] if q_cmd[k, j] < lower[j] else upper[j])
            raise LimitError(
                f"{names[j]} needs its set-point at {value:.3f} rad at {times[k]:.2f} s, "
                f"its pulses allow {lower[j]:.3f} ... {upper[j]:.3f}",
                subject=names[j],
                value=value,
                limit=limit,
            )


def _worst(excess: np.ndarray, times: np.ndarray) -> tuple[int, int, float | None]:
    """Sample and joint of the largest excess (s, n), and when that joint first has any (None: never)."""
    k, j = np.unravel_index(int(excess.argmax()), excess.shape)
    broken = excess[:, j] > 1e-12
    return int(k), int(j), float(times[broken.argmax()]) if broken.any() else None
