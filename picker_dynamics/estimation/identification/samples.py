"""Samples of positions, velocities and efforts along a motion, and checks that their units and times are plausible."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import LimitError, refuse_if
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
    """

    joint_names: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    tau: np.ndarray
    source: str = "samples"


def checked(samples: Samples, description: ArmDescription) -> Samples:
    """The samples, if they can be what they say.

    Raises:
        InputError: not finite, time not increasing, too few or too slow, no effort, velocities that are none.
        LimitError: positions or efforts in another unit, or beyond what the arm can do.
    """
    t, source = samples.t, samples.source
    require_times(t, source)
    for what, values in (("q", samples.q), ("v", np.zeros(0) if samples.v is None else samples.v), ("tau", samples.tau)):
        for row, column in np.argwhere(~np.isfinite(values))[:1]:
            joint, value = samples.joint_names[column], float(values[row, column])
            refuse_if(True, f"{source}: {what} of {joint} is {value} in sample {row}", joint, value)
    for column, (joint, most) in enumerate(zip(description.movable, description.effort.tolist())):
        name, q, tau = joint.name, samples.q[:, column], np.abs(samples.tau[:, column])
        slack = BEYOND * (joint.upper - joint.lower)
        worst = float(q[np.argmax(np.maximum(joint.lower - q, q - joint.upper))])
        if joint.type != "continuous" and not joint.lower - slack <= worst <= joint.upper + slack:
            units = "millimetres for metres" if joint.type == "prismatic" else "degrees for radians"
            raise LimitError(
                f"{source}: {name} reads {worst:.3f}, its limits are {joint.lower:.3f} to {joint.upper:.3f} ({units}?)",
                *(name, worst, joint.upper if worst > joint.upper else joint.lower),
            )
        refuse_if(not tau.any(), f"{source}: the effort of {name} is 0 all the time: is it measured?", name, 0.0)
        if np.quantile(tau, 0.9) > TOO_STRONG * most:
            why = f"{source}: the effort of {name} reaches {tau.max():.3g}, its limit is {most:.3g} (another unit, or a current?)"
            raise LimitError(why, name, float(tau.max()), most)
        if samples.v is not None and np.ptp(q) > 1e-2:
            # Differences of noisy positions are noisier still: the slope is taken of them on the velocities.
            v = samples.v[:, column]
            slope = float(v @ np.gradient(q, t)) / max(float(v @ v), 1e-300)
            why = f"{source}: the positions of {name} move {slope:.3g} times as fast as its velocity (degrees for radians?)"
            refuse_if(abs(slope - 1.0) > SLOPE, why, name, slope, 1.0)
    return samples


def require_times(t: np.ndarray, source: str) -> None:
    """Times (k,) [s] that samples can have; ``source`` is for messages.

    Raises:
        InputError: not finite, not increasing, too few, too short or too slow.
    """
    few = f"{source}: {len(t)} samples, at least {LEAST_SAMPLES} are needed"
    refuse_if(len(t) < LEAST_SAMPLES, few, "time", len(t), LEAST_SAMPLES)
    steps = np.diff(t)
    k = int(np.argmin(steps > 0.0))  # not above 0: NaN too
    back = f"{source}: time does not increase at sample {k + 1}: {t[k]:.6f} s, then {t[k + 1]:.6f} s"
    refuse_if(not steps[k] > 0.0, back, "time", float(t[k + 1]))
    length, rate = float(t[-1] - t[0]), 1.0 / float(np.median(steps))
    slow = f"{source}: {length:.3f} s at {rate:.3g} samples a second, at least {LEAST_S} s at {LEAST_HZ:g} are needed"
    refuse_if(
        not (LEAST_S <= length < math.inf and rate >= LEAST_HZ), f"{slow} (milliseconds for seconds?)", "time", rate, LEAST_HZ
    )
