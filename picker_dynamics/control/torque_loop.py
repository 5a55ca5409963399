"""Control loop of torque-controlled joints, free of ROS: follow a reference, or brake and hold where there is none.

    tau = M(q) (a_d + Kd (v_d - v) + Kp (q_d - q)) + C(q, v) v + g(q)          computed torque, from the measured state
    tau = M(q) (-BRAKE_RATE v)                     + C(q, v) v + g(q)          braking: no reference
    the first with q_d = where it came to rest, v_d = a_d = 0                  holding: after that

with Kp = w², Kd = 2 w, and q_d - q bounded to 2 CATCH_UP / w, which the PD makes good at speed CATCH_UP: where something holds
the arm it does not leap when it comes free.  References come some time before they hold; between two of them lies a quintic, and
time is played along it at a rate r <= 1:

    q_d = q(p),  v_d = r v(p),  a_d = r² a(p) + r' v(p),  r = p'

So a stall of the loop delays a motion and never makes it faster: in it r falls as fast as the braking drives slow the arm down,
after it r comes up to 1 again within RAMP_S, and the delay is made up where nothing moves.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.trajectory import splines

from .laws.computed_torque import ComputedTorque
from .laws.law import NO_STATE, Reference, positive
from .payload_change import PayloadChange

BRAKE_RATE = 8.0
"""Share of its speed that a braking arm loses per second [1/s]."""

STANDSTILL = 0.02
"""Speed below which a braking arm is held where it is [rad/s or m/s]."""

BRAKE_S = 1.0
"""It is held after this long in any case: with a load that the model does not know it would creep on."""

CATCH_UP = 0.25
"""Speed with which a large error is made good, on top of the reference's own [rad/s or m/s]."""

FRESH_S = 0.025
"""Longest that an effort acts, from the state that it answers [s]: a loop of 25 rad/s bears a delay of 22 ms."""

RAMP_S = 0.5
"""In which a reference that was waited for comes up to its pace from standstill [s]."""

STALE_S = 0.05
"""How long after the time of the last reference it is still extended [s]."""

KEPT = 512
"""References kept: those of half a second, the longest lead, at the highest rate, twice."""


class ReferenceBuffer:
    """Buffer of references by time, interpolated between them, and played no faster than time passes."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, Reference]] = deque(maxlen=KEPT)
        self.clear()

    def clear(self) -> None:
        """Forget all references, and play the next ones in their time."""
        self._points.clear()
        self._now_s: float | None = None
        self._delay_s, self._rate, self._change = 0.0, 1.0, 0.0

    def push(self, time_s: float, reference: Reference) -> None:
        """Append a reference; one that is earlier than the last (the reference began anew) replaces what was to come after it."""
        while self._points and self._points[-1][0] >= time_s:
            self._points.pop()
        self._points.append((time_s, reference))

    def delay_s(self, time_s: float) -> float:
        """Delay with which references hold at ``time_s``, because of stalls [s]."""
        self._play(time_s)
        return self._delay_s

    def sample(self, time_s: float) -> Reference | None:
        """The reference to follow at ``time_s``, None before the first and ``STALE_S`` after the last."""
        self._play(time_s)
        points, played_s = self._points, time_s - self._delay_s
        if not points or played_s < points[0][0]:
            return None
        start_s, (q, v, a) = points[0]
        x = played_s - start_s
        if len(points) > 1:
            end_s, end = points[1]
            powers = [
                [1, x, x**2, x**3, x**4, x**5],
                [0, 1, 2 * x, 3 * x**2, 4 * x**3, 5 * x**4],
                [0, 0, 2, 6 * x, 12 * x**2, 20 * x**3],
            ]
            q, v, a = np.array(powers) @ splines.quintic(end_s - start_s, q, v, a, *end)
        elif x > STALE_S:
            return None
        else:
            q, v = q + x * (v + x * a / 2.0), v + x * a
        return Reference(q, self._rate * v, self._rate**2 * a + self._change * v)

    def _play(self, now_s: float) -> None:
        """Go on in the references to ``now_s``."""
        points, last_s = self._points, self._now_s
        if points and now_s >= (points[0][0] if last_s is None else last_s):
            self._now_s = now_s
        if points and last_s is not None and (dt := now_s - last_s) > 0.0:
            before, ends_s = self._rate, points[-1][0] + STALE_S
            acted_s = FRESH_S if last_s - self._delay_s <= ends_s else 0.0
            if dt > acted_s:  # then the drives braked
                self._rate, self._change = before * math.exp(-BRAKE_RATE * (dt - acted_s)), 0.0
                self._delay_s += dt - before * acted_s - (before - self._rate) / BRAKE_RATE
            else:
                self._rate = min(before + dt / RAMP_S, 1.0)
                self._change = (self._rate - before) / dt
                self._delay_s += (1.0 - self._rate) * dt
        while len(points) > 1:
            end_s, end = points[1]
            if self._delay_s > 0.0 and np.array_equal(points[0][1].q, end.q) and not (points[0][1].v.any() or end.v.any()):
                self._delay_s, self._rate, self._change = min(self._delay_s, max(now_s - end_s, 0.0)), 1.0, 0.0
            if now_s - self._delay_s < end_s:
                break
            points.popleft()


class HoldLaw:
    """Law that brakes the arm, then holds it where it came to rest.

    Args:
        model: the arm as believed.
        bandwidth: w of the holding [rad/s].

    Attributes:
        law: with which it holds; whoever believes in another model tells it.
        pose: (n,) where it holds, None while it brakes.
    """

    def __init__(self, model: DynamicsModel, bandwidth: float):
        bandwidth = positive("bandwidth", bandwidth)
        self.law = ComputedTorque(model, bandwidth**2, 2.0 * bandwidth)
        self._still = np.zeros(model.n)
        self._since_s: float | None = None
        self.pose: Array | None = None

    def release(self) -> None:
        """Something else moves the arm: brake anew when asked again."""
        self.pose = self._since_s = None

    def __call__(self, q: Array, v: Array, time_s: float) -> Array:
        """The effort now, (n,) [N·m or N]."""
        if self.pose is None:
            self._since_s = time_s if self._since_s is None else self._since_s
            if np.abs(v).max() > STANDSTILL and time_s - self._since_s < BRAKE_S:
                return self.law.model.inverse_dynamics(q, v, -BRAKE_RATE * v)
            self.pose = q.copy()
        return self.law(q, v, Reference(self.pose, self._still, self._still), NO_STATE)[0]


class TorqueLoop:
    """Torque controller: efforts from measured states and buffered references, with changes of payload faded in.

    Args:
        model: the arm without payload.
        bandwidth: w [rad/s].
        transition_s: how long a change of payload takes to be believed, and, at a start, any payload at all [s].
    """

    def __init__(self, model: DynamicsModel, bandwidth: float, transition_s: float = 0.5):
        self._bare = model
        self._hold = HoldLaw(model, bandwidth)
        self._law = self._hold.law
        self._bound = 2.0 * CATCH_UP / bandwidth
        self._transition_s, self._last_s = transition_s, -np.inf
        self._payload = PayloadChange(model)
        self.references = ReferenceBuffer()
        self.error = np.zeros(model.n)

    @property
    def model(self) -> Any:
        """The arm with the payload that was set last."""
        return self._payload.model

    def start(self) -> None:
        """Forget all references: the arm starts anew from where it is held, by drives that know of no payload."""
        self.references.clear()
        self._hold.release()
        self._payload.pass_over(self._bare, self._transition_s)
        self._last_s = -np.inf

    def set_payload(self, mass: float, com: ArrayLike, time_s: float) -> None:
        """Carry another payload, from ``time_s`` on.

        Raises:
            InputError: an invalid payload.
        """
        self._law.model = self._bare.with_payload(mass, com) if mass else self._bare
        self._payload.advance(self._since(time_s))
        self._payload.begin(self._law.model, self._transition_s)

    def effort(self, q: Array, v: Array, time_s: float) -> Array:
        """Efforts (n,) [N·m or N] for the state measured at ``time_s``."""
        self._payload.advance(self._since(time_s))
        reference = self.references.sample(time_s)
        if reference is None:
            tau = self._hold(q, v, time_s)
            if not self._payload.settled:
                tau = tau + self._payload.torque(lambda model: model.gravity(q)) - self.model.gravity(q)
            return tau
        self._hold.release()
        self.error = reference.q - q
        caught_up = np.clip(self.error, -self._bound, self._bound)
        u = reference.a + self._law.Kd * (reference.v - v) + self._law.Kp * caught_up
        return self._payload.torque(lambda model: model.inverse_dynamics(q, v, u))

    def _since(self, time_s: float) -> float:
        """Time since the last look at it [s]; of a time that comes late none."""
        since_s, self._last_s = max(time_s - self._last_s, 0.0), max(time_s, self._last_s)
        return since_s if np.isfinite(since_s) else 0.0
