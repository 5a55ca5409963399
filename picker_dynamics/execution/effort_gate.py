"""The torque gate of an arm whose joints take efforts: the URDF's limits instead of a servo map.

Along the motion, every ``period_s`` and on both sides of every break:

    |tau_d| <= peak_share effort                        tau_d = M a + C v + g + F(v)

and where it ends, |g(q_end)| <= hold_share effort.  The payload is part of the model.  Turning joints have N·m, sliding
ones N.  Speeds are bounded by the URDF's velocity limits (``goal_check``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InfeasibleError, JointNamesError
from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.model import DynamicsModel
from picker_dynamics.trajectory.trajectory import Trajectory

from .feasibility import MIN_SAMPLES, FeasibilityReport


@dataclass(frozen=True, eq=False)
class EffortGate:
    """Checks motions of ``model`` against the effort limits of ``arm``; stands where ``feasibility.Gate`` does.

    Args:
        model: the arm with its present payload.
        arm: limits and shares, of the same joints in the same order.
        period_s: largest distance of the samples [s].
    """

    model: DynamicsModel
    arm: Arm
    period_s: float = 0.01

    def __post_init__(self):
        if self.model.joint_names != self.arm.description.joint_names:
            raise JointNamesError(
                f"the model's joints are {', '.join(self.model.joint_names)}, "
                f"the arm's {', '.join(self.arm.description.joint_names)}"
            )

    @property
    def peak_limit(self) -> np.ndarray:
        """(n,) effort allowed along a motion [N·m or N]."""
        return self.arm.peak_limit

    @property
    def hold_limit(self) -> np.ndarray:
        """(n,) effort allowed where a motion ends [N·m or N]."""
        return self.arm.hold_limit

    def check(self, trajectory: Trajectory) -> FeasibilityReport:
        """Let the motion pass, or say why not.

        Raises:
            InfeasibleError: naming joint, time, effort and limit.
            JointNamesError: a trajectory of other joints.
        """
        if trajectory.joint_names != self.model.joint_names:
            raise JointNamesError(
                f"the trajectory's joints are {', '.join(trajectory.joint_names)}, "
                f"the model's {', '.join(self.model.joint_names)}"
            )
        times, q, v, a = trajectory.grid(min(self.period_s, trajectory.duration / MIN_SAMPLES))
        tau, hold = self.model.required_torque(q, v, a), self.model.gravity(trajectory.end)
        self._require_hold(hold, trajectory.duration)
        self._require_motion(times, tau)
        peak_use, hold_use = np.abs(tau) / self.peak_limit, np.abs(hold) / self.hold_limit
        share = np.maximum(peak_use.max(axis=0), hold_use)
        j = int(share.argmax())
        worst_time = trajectory.duration if hold_use[j] == share[j] else times[int(peak_use[:, j].argmax())]
        return FeasibilityReport(
            trajectory,
            1.0,
            times,
            tau,
            hold,
            self.peak_limit,
            self.hold_limit,
            share,
            self.model.joint_names[j],
            float(worst_time),
        )

    def check_point(self, q, v, a) -> np.ndarray:
        """Check one sample of a stream, which may stop at any of them; returns tau_d, (n,) [N·m or N].

        Raises:
            InfeasibleError: as ``check``; time is 0.
        """
        q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
        tau = self.model.required_torque(q, v, a)
        self._require_hold(self.model.gravity(q), 0.0)
        self._require_motion(np.zeros(1), tau[None])
        return tau

    def _limit_text(self, joint: int, share: float) -> str:
        effort, unit = self.arm.description.effort[joint], self.arm.description.effort_units[joint]
        return f"allowed {share * effort:.2f} ({share:.2f} of {effort:.2f} {unit})"

    def _require_hold(self, tau: np.ndarray, time_s: float) -> None:
        j = int((np.abs(tau) / self.hold_limit).argmax())
        joint, value, limit = self.model.joint_names[j], float(abs(tau[j])), float(self.hold_limit[j])
        if value > limit:
            unit, text = self.arm.description.effort_units[j], self._limit_text(j, self.arm.hold_share)
            raise InfeasibleError(
                f"{joint} needs {value:.2f} {unit} to hold its pose at {time_s:.2f} s, {text}",
                subject=joint,
                value=value,
                limit=limit,
                time_s=time_s,
            )

    def _require_motion(self, times: np.ndarray, tau: np.ndarray) -> None:
        use = np.abs(tau) / self.peak_limit
        k, j = np.unravel_index(int(use.argmax()), use.shape)
        if use[k, j] <= 1.0 + 1e-12:
            return
        joint, value, limit = self.model.joint_names[j], float(abs(tau[k, j])), float(self.peak_limit[j])
        first = float(times[int((use[:, j] > 1.0 + 1e-12).argmax())])
        unit, text = self.arm.description.effort_units[j], self._limit_text(j, self.arm.peak_share)
        raise InfeasibleError(
            f"{joint} needs {value:.2f} {unit} at {times[k]:.2f} s, {text}, too much from {first:.2f} s on",
            subject=joint,
            value=value,
            limit=limit,
            time_s=first,
        )
