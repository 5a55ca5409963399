"""Samples of positions, velocities and efforts along a motion, and checks that their units and times are plausible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.errors import JointNamesError, LimitError, refuse_if
from picker_dynamics.robot.description import ArmDescription

LEAST_S, LEAST_SAMPLES, LEAST_HZ = 1.0, 100, 20.0
"""Less says nothing of accelerations."""

BEYOND = 0.05
"""How far beyond a position limit a reading may be, as a share of the range."""

TOO_STRONG = 2.0
"""Effort beyond this multiple of the limit is in another unit."""

SLOPE = 0.3
"""How far the measured velocity may differ in scale from the positions' differences, as a share."""

SLIPPED = 10.0
"""Readings beyond this are in another unit rather than a little off [rad or m]."""

SLIPS = {"rad": (math.degrees(1.0), "degrees given for radians"), "m": (1000.0, "millimetres given for metres")}


@dataclass(frozen=True, eq=False)
class Samples:
    """Measured values along time.

    Attributes:
        joint_names: of the arm, in its order.
        t: (k,) [s].
        q: (k, n) [rad or m].
        v: (k, n) [rad/s or m/s], or None: not measured.
        tau: (k, n) [N·m or N].
        source: for messages.
        remarks: what a person should know of how they were read.
    """

    joint_names: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    tau: np.ndarray
    source: str = "samples"
    remarks: tuple[str, ...] = ()

    def between(self, begin_s: float | None, end_s: float | None) -> Samples:
        """Samples from ``begin_s`` to ``end_s`` after the first [s]; None: all there are."""
        since = self.t - self.t[:1].sum()
        keep = (since >= (-np.inf if begin_s is None else begin_s)) & (since <= (np.inf if end_s is None else end_s))
        return replace(self, t=self.t[keep], q=self.q[keep], v=None if self.v is None else self.v[keep], tau=self.tau[keep])

    def times_constants(self, constants: Mapping[str, float]) -> Samples:
        """Efforts [N·m or N] of currents [A]: each joint's times its constant [N·m/A at the joint, gear included].

        Raises:
            JointNamesError: a constant for a joint that there is not.
            InputError: a constant that is 0 or not finite.
        """
        for joint, value in constants.items():
            if joint not in self.joint_names:
                raise JointNamesError(
                    f"torque constant for {joint!r}: no such joint; there are {', '.join(self.joint_names)}", subject=joint
                )
            refuse_if(
                not (math.isfinite(value) and value),
                f"torque constant of {joint} is {value}, must be a finite number other than 0",
                joint,
                value,
            )
        return replace(self, tau=self.tau * np.array([constants.get(joint, 1.0) for joint in self.joint_names]))


def checked(samples: Samples, description: ArmDescription) -> Samples:
    """The samples, if they can be what they say.

    Raises:
        InputError: shapes, not finite, time not increasing, too few or too slow, no effort, velocities that are none.
        LimitError: positions or efforts in another unit, or beyond what the arm can do.
    """
    shape, source = (len(samples.t), description.n), samples.source
    for name in ("q", "tau") if samples.v is None else ("q", "v", "tau"):
        values = getattr(samples, name)
        refuse_if(values.shape != shape, f"{source}: {name} has shape {values.shape}, expected {shape}", name, values.shape)
        for row, column in np.argwhere(~np.isfinite(values))[:1]:
            joint, value = samples.joint_names[column], float(values[row, column])
            refuse_if(True, f"{source}: {name} of {joint} is {value} in sample {row}", joint, value)
    require_times(samples.t, source)
    units = zip(description.movable, description.position_units, description.effort_units, description.effort.tolist())
    for column, (joint, unit, effort_unit, most) in enumerate(units):
        name, q, tau = joint.name, samples.q[:, column], np.abs(samples.tau[:, column])
        span = joint.upper - joint.lower if math.isfinite(joint.upper - joint.lower) else 2.0 * math.pi
        low, high = joint.lower - BEYOND * span, joint.upper + BEYOND * span
        worst = float(q[np.argmax(np.maximum(low - q, q - high))])
        if joint.type != "continuous" and not low <= worst <= high:
            slip, hint = SLIPS[unit]
            slipped = abs(worst) > SLIPPED and low <= q.min() / slip and q.max() / slip <= high
            message = f"{source}: {name} reads {worst:.3f} {unit}, its limits are {joint.lower:.3f} to {joint.upper:.3f}"
            limit = joint.upper if worst > joint.upper else joint.lower
            raise LimitError(message + (f" ({hint}?)" if slipped else ""), name, worst, limit)
        refuse_if(not tau.any(), f"{source}: the effort of {name} is 0 all the time: is it measured?", name, 0.0)
        if np.quantile(tau, 0.9) > TOO_STRONG * most:
            raise LimitError(
                f"{source}: the effort of {name} reaches {tau.max():.3g} {effort_unit}, its limit is {most:.3g} "
                "(another unit, or a current without --torque-constant?)",
                *(name, float(tau.max()), most),
            )
        if samples.v is not None:
            _require_velocity(samples.t, q, samples.v[:, column], name, source)
    return samples


def require_times(t: np.ndarray, source: str) -> None:
    """Times (k,) [s] that samples can have; ``source`` is for messages.

    Raises:
        InputError: not finite, not increasing, too few, too short or too slow.
    """

    def refuse(wrong: object, message: str, value=None, limit=None) -> None:
        refuse_if(wrong, f"{source}: {message}", "time", value, limit)

    finite, steps = np.isfinite(t), np.diff(t)
    refuse(not finite.all(), f"time of sample {np.argmin(finite) if len(t) else 0} is not finite")
    refuse(len(t) < LEAST_SAMPLES, f"{len(t)} samples, at least {LEAST_SAMPLES} are needed", len(t), LEAST_SAMPLES)
    k = int(np.argmax(steps <= 0.0))
    refuse(steps[k] <= 0.0, f"time does not increase at sample {k + 1}: {t[k]:.6f} s, then {t[k + 1]:.6f} s", float(t[k + 1]))
    length, rate = float(t[-1] - t[0]), 1.0 / float(np.median(steps))
    refuse(length < LEAST_S, f"{length:.3f} s long, at least {LEAST_S} s are needed", length, LEAST_S)
    hint = " (milliseconds given for seconds?)" if 1000.0 * rate >= LEAST_HZ else ""
    refuse(rate < LEAST_HZ, f"{rate:.3g} samples a second, at least {LEAST_HZ:g} are needed{hint}", rate, LEAST_HZ)


def _require_velocity(t: np.ndarray, q: np.ndarray, v: np.ndarray, joint: str, source: str) -> None:
    difference = np.gradient(q, t)
    if np.ptp(q) < 1e-2 or not difference.any():
        return
    # Differences of noisy positions are noisier still: the slope is taken of them on the velocities.
    slope = float(v @ difference) / float(v @ v) if v.any() else 0.0
    hint = " (degrees per second given for radians?)" if abs(slope * math.degrees(1.0) - 1.0) < SLOPE else ""
    refuse_if(
        not 1.0 - SLOPE < slope < 1.0 + SLOPE,
        f"{source}: the velocity of {joint} is not that of its positions: they move {slope:.3g} times as fast{hint}",
        joint,
        slope,
        1.0,
    )
