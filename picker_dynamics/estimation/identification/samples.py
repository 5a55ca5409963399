"""Samples of positions, velocities and efforts along a motion, and checks that their units and times are plausible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, LimitError, refuse_if
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

SLIPS = {math.degrees(1.0): "degrees given for radians", 1000.0: "millimetres given for metres"}


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
        since = self.t - self.t[0] if len(self.t) else self.t
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
                raise JointNamesError(f"torque constant for {joint!r}: the arm has {', '.join(self.joint_names)}", subject=joint)
            refuse_if(
                not (math.isfinite(value) and value),
                f"torque constant of {joint} is {value}, must be a finite number other than 0",
                joint,
                value,
            )
        return replace(self, tau=self.tau * np.array([constants.get(joint, 1.0) for joint in self.joint_names]))


def _refused(samples: Samples, message: str, subject: str, value=None, limit=None, kind=InputError) -> InputError:
    return kind(f"{samples.source}: {message}", subject=subject, value=value, limit=limit)


def checked(samples: Samples, description: ArmDescription) -> Samples:
    """The samples, if they can be what they say.

    Raises:
        InputError: shapes, not finite, time not increasing, too few or too slow, no effort, velocities that are none.
        LimitError: positions or efforts in another unit, or beyond what the arm can do.
    """
    shape = (len(samples.t), description.n)
    for name in ("q", "v", "tau"):
        values = getattr(samples, name)
        if values is None:
            continue
        if values.shape != shape:
            raise _refused(samples, f"{name} has shape {values.shape}, expected {shape}", name, values.shape)
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            joint, value = samples.joint_names[column], float(values[row, column])
            raise _refused(samples, f"{name} of {joint} is {value} in sample {row}", joint, value)
    require_times(samples.t, samples.source)
    _require_positions(samples, description)
    _require_efforts(samples, description)
    if samples.v is not None:
        _require_velocities(samples)
    return samples


def require_times(t: np.ndarray, source: str) -> None:
    """Times (k,) [s] that samples can have; ``source`` is for messages.

    Raises:
        InputError: not finite, not increasing, too few, too short or too slow.
    """

    def refused(message: str, value=None, limit=None) -> InputError:
        return InputError(f"{source}: {message}", subject="time", value=value, limit=limit)

    if not np.isfinite(t).all():
        raise refused(f"time of sample {int(np.argmin(np.isfinite(t)))} is not finite")
    if len(t) < LEAST_SAMPLES:
        raise refused(f"{len(t)} samples, at least {LEAST_SAMPLES} are needed", len(t), LEAST_SAMPLES)
    steps = np.diff(t)
    if (steps <= 0.0).any():
        k = int(np.argmax(steps <= 0.0))
        before, after = float(t[k]), float(t[k + 1])
        raise refused(f"time does not increase at sample {k + 1}: {before:.6f} s, then {after:.6f} s", after, before)
    length = float(t[-1] - t[0])
    if length < LEAST_S:
        raise refused(f"{length:.3f} s long, at least {LEAST_S} s are needed", length, LEAST_S)
    rate = 1.0 / float(np.median(steps))
    if rate < LEAST_HZ:
        hint = " (milliseconds given for seconds?)" if 1000.0 * rate >= LEAST_HZ else ""
        raise refused(f"{rate:.3g} samples a second, at least {LEAST_HZ:g} are needed{hint}", rate, LEAST_HZ)


def _require_positions(samples: Samples, description: ArmDescription) -> None:
    for q, joint, unit in zip(samples.q.T, description.movable, description.position_units):
        if joint.type == "continuous":
            continue
        span = joint.upper - joint.lower if math.isfinite(joint.upper - joint.lower) else 2.0 * math.pi
        low, high = joint.lower - BEYOND * span, joint.upper + BEYOND * span
        beyond = np.maximum(low - q, q - high)
        if beyond.max() > 0.0:
            worst = float(q[int(beyond.argmax())])
            slip = math.degrees(1.0) if unit == "rad" else 1000.0
            hint = f" ({SLIPS[slip]}?)" if abs(worst) > SLIPPED and low <= q.min() / slip and q.max() / slip <= high else ""
            message = f"{joint.name} reads {worst:.3f} {unit}, its limits are {joint.lower:.3f} to {joint.upper:.3f}{hint}"
            limit = joint.upper if worst > joint.upper else joint.lower
            raise _refused(samples, message, joint.name, worst, limit, LimitError)


def _require_efforts(samples: Samples, description: ArmDescription) -> None:
    for tau, joint, unit, limit in zip(
        np.abs(samples.tau).T, description.joint_names, description.effort_units, description.effort.tolist()
    ):
        largest = float(tau.max())
        if largest == 0.0:
            raise _refused(samples, f"the effort of {joint} is 0 all the time: is it measured?", joint, 0.0)
        if np.quantile(tau, 0.9) > TOO_STRONG * limit:
            message = (
                f"the effort of {joint} reaches {largest:.3g} {unit}, its limit is {limit:.3g} "
                "(another unit, or a current without --torque-constant?)"
            )
            raise _refused(samples, message, joint, largest, limit, LimitError)


def _require_velocities(samples: Samples) -> None:
    for q, v, joint in zip(samples.q.T, samples.v.T, samples.joint_names):
        difference = np.gradient(q, samples.t)
        if np.ptp(q) < 1e-2 or not difference.any():
            continue
        # Differences of noisy positions are noisier still: the slope is taken of them on the velocities.
        slope = float(v @ difference) / float(v @ v) if v.any() else 0.0
        if not 1.0 - SLOPE < slope < 1.0 + SLOPE:
            hint = " (degrees per second given for radians?)" if abs(slope * math.degrees(1.0) - 1.0) < SLOPE else ""
            message = f"the velocity of {joint} is not that of its positions: they move {slope:.3g} times as fast{hint}"
            raise _refused(samples, message, joint, slope, 1.0)
