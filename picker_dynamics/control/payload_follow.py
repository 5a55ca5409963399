"""Payload estimation while the arm works: recursive least squares on measured efforts, or on the torques of the servos' springs.

The torque that the arm bears beyond the model of the empty arm is the payload's, at rest as in motion:

    r = LP tau - tau_0(LP q, LP v, LP a) = Y m + e          Y: what a kilogram adds to tau_0;  LP a = (LP v)'
    m = (Σ λ^k Yᵀ W r) / (Σ λ^k Yᵀ W Y)                     recursive least squares, forgetting within FORGET_S

LP is the same first-order low-pass for all, so that no acceleration has to be measured.  r does not depend on the mass that the
controller uses, so nothing is fed back and nothing can oscillate.  Where Y says too little (the tool above its joints)
nothing is learned and nothing forgotten.  What is used goes towards m no faster than the rate, between 0 and a largest mass.

A push on the arm looks like a payload: the bound and the rate are what keeps that harmless.  ``Following`` is the policy around
it: when it is on, what the controller uses, and what everyone is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.robot.model import as_states, payload_values
from picker_dynamics.robot.servo import ServoModel

from .laws.law import positive

FILTER_S, FORGET_S = 0.02, 0.3
"""Time constants of the low-pass and of the forgetting [s]."""

PAUSE_S = 0.25
"""After a longer one without a state the filters begin anew [s]."""

SETTLE_FILTERS = 5.0
"""Time constants after which the filters have forgotten how they began."""

SEEN = 2.0
"""The largest mass must show as so many standard deviations, or the pose says nothing."""

REST_SPEED = 0.02
"""Where only an arm at rest tells: what counts as such [rad/s or m/s]."""

REST_S = 0.3
"""And for how long it has to [s]."""

SAME = 0.002
"""Changes below this share of the largest mass are not worth a change of model."""

BEYOND = 0.05
"""Share of the largest mass by which an estimate may be outside of what is possible before that is said."""

FOLLOW_PERIOD_S = 0.2
"""How often the mass that is used may change [s]; never more often than a change of payload takes at the least; one that takes
longer goes on from where it is."""

ANGLE_SD, FRICTION_SHARE = 0.003, 0.01
"""Of a measured joint angle [rad], and of what dry friction holds back in a servo, as a share of its stall torque."""

EFFORT_SD = 0.003
"""Of a measured effort, and of what the model misses, as a share of the joint's limit; dry friction comes on top."""

MEASURED = "measured"
"""Provenance of joint states from which a payload can be estimated."""


def servo_effort_sd(servo: ServoModel) -> np.ndarray:
    """(n,) standard deviation of the torque that a servo's measured angle tells [N·m]."""
    return np.asarray(np.hypot(servo.stiffness * ANGLE_SD, FRICTION_SHARE * servo.stall_torque))


def held_by_gears(servo: ServoModel) -> str:
    """Why servos tell no payload that is put on at rest: their gears bear it; "" where they do not."""
    most = float(servo.load_friction.max())
    if not most:
        return ""
    return (
        f"the gears hold back up to {100.0 * most:.0f} % of what the motors give (load_friction): at rest they bear a payload, "
        "and the springs tell nothing of it; picker weigh visits poses from both sides instead"
    )


def drive_effort_sd(effort: ArrayLike, friction: ArrayLike) -> np.ndarray:
    """(n,) standard deviation of a drive's measured effort [N·m or N], from its limit and dry friction, (n,) each."""
    return np.asarray(np.hypot(EFFORT_SD * np.asarray(effort), friction))


def spring_efforts(servo: ServoModel, setpoint: ArrayLike, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Torques (n,) [N·m] of the servos' springs at the measured angles ``q`` (n,) [rad], and (n,) whether each is sure.

    Inside its deadband a servo bears anything up to its friction.
    """
    return servo.spring_torque(setpoint, q), np.abs(np.subtract(setpoint, q)) > servo.gap


class PayloadFollower:
    """Recursive least-squares estimate of the payload's mass, and the mass to use meanwhile: bounded, and of bounded rate.

    Args:
        model: the arm without payload; must offer ``with_payload``.
        effort_sd: (n,) what an effort is not known to [N·m or N], > 0: noise, friction.
        com: (3,) where the payload is [m], tool frame.
        max_kg: largest mass that is followed [kg], > 0.
        rate_kg_s: fastest change of what is used [kg/s], > 0.
        start_kg: what is used at first [kg].
        at_rest_only: learn only while the arm stands.

    Attributes:
        mass: what is to be used [kg].
        estimate: what the efforts say [kg], None while they have said nothing.
        problem: why it does not follow further, empty where it does.
    """

    def __init__(
        self,
        model: Any,
        effort_sd: ArrayLike,
        *,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        max_kg: float,
        rate_kg_s: float,
        start_kg: float = 0.0,
        at_rest_only: bool = False,
    ):
        self._empty, self._kilogram = model, model.with_payload(1.0, tuple(com))
        sd = np.array(as_states("effort_sd", effort_sd, model.n))
        if not (sd > 0.0).all():
            raise InputError(
                f"noise of the efforts is {sd.min():g}, must be above 0", subject="effort_sd", value=float(sd.min()), limit=0.0
            )
        self._weight, self._at_rest_only = 1.0 / sd**2, at_rest_only
        self.limit(max_kg, rate_kg_s)
        self.mass, self.problem = float(start_kg), ""
        self._information = self._projection = self._learned_s = 0.0
        self._news_s: float | None = None
        self.pause()

    def limit(self, max_kg: float, rate_kg_s: float) -> None:
        """Set other bounds of the payload and its rate from now on."""
        self.max_kg, self.rate = positive("payload.follow_max", max_kg), positive("payload.follow_rate", rate_kg_s)

    def pause(self) -> None:
        """The states that come next do not go on from the last one: filters begin anew, what was learned stays."""
        self._time_s: float | None = None
        self._stood_s = 0.0

    @property
    def estimate(self) -> float | None:
        """Mass that the efforts say [kg]."""
        return self._projection / self._information if self._learned_s >= FORGET_S else None

    def observe(self, q: ArrayLike, v: ArrayLike, effort: ArrayLike, time_s: float, sure: ArrayLike | None = None) -> None:
        """Take a measured state.

        Args:
            q, v: (n,) [rad or m, per s].  effort: (n,) that acted until now [N·m or N].  time_s: of the state.
            sure: (n,) whether a joint's effort is known; None: all are.
        """
        measured = np.stack([np.asarray(x, dtype=float) for x in (q, v, effort)])
        if not np.isfinite(measured).all():
            return
        step_s = 0.0 if self._time_s is None else time_s - self._time_s
        if self._time_s is None or not 0.0 <= step_s <= PAUSE_S:
            self._filtered, self._since_s = measured, 0.0
            self._time_s, self._stood_s = time_s, 0.0
            return
        if step_s == 0.0:
            return
        self._time_s = time_s
        before = self._filtered[1]
        self._filtered = self._filtered + (1.0 - math.exp(-step_s / FILTER_S)) * (measured - self._filtered)
        self._since_s += step_s
        self._stood_s = self._stood_s + step_s if np.abs(self._filtered[1]).max() < REST_SPEED else 0.0
        if self._since_s < SETTLE_FILTERS * FILTER_S or (self._at_rest_only and self._stood_s < REST_S):
            return
        self._learn((self._filtered[1] - before) / step_s, step_s, sure)

    def _learn(self, acceleration: np.ndarray, step_s: float, sure: ArrayLike | None) -> None:
        q, v, effort = self._filtered
        if self._at_rest_only:
            v = acceleration = np.zeros_like(q)
        empty = self._empty.required_torque(q, v, acceleration)
        slope = self._kilogram.required_torque(q, v, acceleration) - empty
        weight = self._weight if sure is None else self._weight * np.asarray(sure, dtype=float)
        information = float(slope @ (weight * slope))
        if information * self.max_kg**2 < SEEN**2:
            return
        kept = math.exp(-step_s / FORGET_S)
        self._information = kept * self._information + (1.0 - kept) * information
        self._projection = kept * self._projection + (1.0 - kept) * float(slope @ (weight * (effort - empty)))
        self._learned_s += step_s
        self._news_s = self._time_s

    def step(self, duration_s: float) -> float:
        """The mass to use from now on [kg], ``duration_s`` [s] after the step before; ``mass`` where nothing new came."""
        self.problem = ""
        if self.estimate is None or self._news_s is None or self._time_s is None or self._time_s - self._news_s > PAUSE_S:
            return self.mass
        margin = BEYOND * self.max_kg
        if not -margin <= self.estimate <= self.max_kg + margin:
            limit = (
                f"payload.follow_max, {self.max_kg:g} kg"
                if self.estimate > 0.0
                else "0 kg: something lifts the tool, or the arm is lighter than its description"
            )
            self.problem = f"the efforts say that the tool carries {self.estimate:.3f} kg, not followed beyond {limit}"
        change = min(max(self.estimate, 0.0), self.max_kg) - self.mass
        if abs(change) >= SAME * self.max_kg:
            self.mass += math.copysign(min(abs(change), self.rate * duration_s), change)
        return self.mass


class Payload(NamedTuple):
    """A load at the tool: mass [kg], centre of mass (3,) [m] in the tool frame."""

    mass: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)


def require_vector(com: Sequence[float]) -> tuple[float, float, float]:
    """``com`` as three numbers; InputError where it is not."""
    if len(com) != 3:
        raise InputError(f"payload.com has {len(com)} numbers, expected 3 [m]", subject="payload.com", value=len(com), limit=3)
    _, centre, _ = payload_values(0.0, com, None)
    x, y, z = (float(value) for value in centre)
    return x, y, z


class PayloadOwner(Protocol):
    """The controller whose payload it is."""

    def make_follower(self, **bounds: Any) -> PayloadFollower:
        """A follower, given ``com``, ``max_kg``, ``rate_kg_s`` and ``start_kg``."""

    def use_payload(self, payload: Payload) -> None:
        """Control with this payload."""

    def require_holdable(self, payload: Payload) -> None:
        """Raise an InfeasibleError where the present pose could not be held with it."""

    def publish_payload(self, payload: Payload) -> None:
        """Tell everyone what motions have to bear."""

    def switch_following(self, on: bool) -> None:
        """Begin or end what is needed only while the payload is followed: ``observe``, and ``step`` every ``period_s``."""


class Following:
    """Policy of the payload: as it is set, or, while ``payload.follow`` is on, as the efforts say, as far as they may.

    The controller uses what is followed.  Everyone else is told the heavier of that and ``payload.mass``, so an estimate
    never allows a motion that would be refused without it.

    Args:
        owner: the controller.
        payload: what is set at first; ``set_payload`` makes it known.
        wished: ``payload.follow``.
        max_kg, rate_kg_s: ``payload.follow_max`` and ``payload.follow_rate``.
        transition_s: how long a change of payload takes [s].

    Attributes:
        payload: what is set.
        provenance: where joint states come from, as the hardware says; empty: not known yet.
        obstacle: why nothing can be learned now; empty where something is.
    """

    def __init__(
        self, owner: PayloadOwner, payload: Payload, *, wished: bool, max_kg: float, rate_kg_s: float, transition_s: float
    ):
        self._owner, self.payload = owner, payload
        self.wished, self._max, self._rate = wished, max_kg, rate_kg_s
        self.period_s = max(transition_s, FOLLOW_PERIOD_S)
        self.provenance = self._problem = self.obstacle = ""
        self.follower: PayloadFollower | None = None

    @property
    def problem(self) -> str:
        """Reason why the payload is not followed, or not further."""
        return self._problem or (self.obstacle if self.on else "")

    @property
    def on(self) -> bool:
        return self.follower is not None

    @property
    def mass(self) -> float:
        """Mass of the payload that is followed [kg]; 0 while nothing is."""
        return self.follower.mass if self.follower is not None else 0.0

    # -- what is set -----------------------------------------------------------------------------------------

    def set_payload(self, mass: float, com: Sequence[float]) -> None:
        """Carry another payload, mass [kg] and centre of mass (3,) [m], tool frame.

        Raises:
            InputError: it can be none.  InfeasibleError: heavier or elsewhere, and the present pose could not be held with it.
        """
        payload = Payload(float(mass), require_vector(com))
        if mass > self.payload.mass or (mass and payload.com != self.payload.com):
            self._owner.require_holdable(payload)
        self._owner.use_payload(payload._replace(mass=self.mass) if self.on else payload)
        self.payload = payload
        self._publish(self.mass)

    def change(self, parameters: dict[str, Any]) -> None:
        """Take new values of the parameters ``payload.*``; others are ignored.

        Raises:
            PickerError: a value that does not fit; nothing changes.
        """
        mass, com = parameters.get("payload.mass", self.payload.mass), parameters.get("payload.com", self.payload.com)
        wished, most = parameters.get("payload.follow", self.wished), parameters.get("payload.follow_max", self._max)
        if wished:
            self._require(mass, most, "payload.follow" in parameters)
        if "payload.mass" in parameters or "payload.com" in parameters:
            self.set_payload(mass, com)
        self.wished, self._max, self._rate = wished, most, parameters.get("payload.follow_rate", self._rate)
        if self.follower is not None and "payload.com" in parameters:
            self._start(self.mass)
        elif self.follower is not None:
            self.follower.limit(self._max, self._rate)
        self._follow_or_not()

    def _require(self, mass: float, most: float, begins: bool) -> None:
        if begins and self.provenance != MEASURED:
            state = (
                f"are {self.provenance}, not measured: nothing tells what the tool carries"
                if self.provenance
                else "have not been heard of yet: is the hardware node running?"
            )
            raise InputError(f"payload.follow: joint_states {state}", subject="payload.follow", value=self.provenance)
        if mass > most:
            raise InputError(
                f"payload.mass is {mass:g} kg, above payload.follow_max, {most:g} kg: it could not be followed",
                subject="payload.mass",
                value=mass,
                limit=most,
            )

    # -- on and off ------------------------------------------------------------------------------------------

    def set_provenance(self, provenance: str) -> None:
        """Take where joint states come from, as the hardware says: begin what was wished at the start, or end it."""
        self.provenance = provenance or self.provenance
        if self.wished and self.provenance not in ("", MEASURED):
            self._problem = f"payload.follow is on, but joint_states are {self.provenance}, not measured: nothing is followed"
        elif self.wished and self.payload.mass > self._max:
            self._problem = f"payload.mass is {self.payload.mass:g} kg, above payload.follow_max, {self._max:g} kg: not followed"
        self._follow_or_not()

    def _follow_or_not(self) -> None:
        """Begin or end, as wished and possible."""
        begin = self.wished and self.provenance == MEASURED and self.payload.mass <= self._max
        if begin and not self.on:
            self._start(self.payload.mass)
            self._owner.switch_following(True)
        elif self.on and not begin:
            self._owner.switch_following(False)
            self.follower = None
            self._owner.use_payload(self.payload)
            self._publish(0.0)
        if not self.wished:
            self._problem = ""

    def _start(self, mass: float) -> None:
        self.follower = self._owner.make_follower(com=self.payload.com, max_kg=self._max, rate_kg_s=self._rate, start_kg=mass)
        self._problem = self.obstacle = ""

    def _publish(self, followed_kg: float) -> None:
        self._owner.publish_payload(self.payload._replace(mass=max(self.payload.mass, followed_kg)))

    # -- meanwhile -------------------------------------------------------------------------------------------

    def observe(self, q: ArrayLike, v: ArrayLike, effort: ArrayLike, time_s: float, sure: ArrayLike | None = None) -> None:
        """Take a measured state, see ``PayloadFollower.observe``; nothing where nothing is followed."""
        if self.follower is not None:
            self.obstacle = ""
            self.follower.observe(q, v, effort, time_s, sure)

    def obstruct(self, why: object) -> None:
        """Note that nothing can be learned from this state, for a reason that the diagnostics tell."""
        self.obstacle = f"the payload is not followed: {why}"

    def update_estimate(self) -> str:
        """Use what the efforts say, a step further, unless it could not be held here; returns what is newly wrong."""
        if self.follower is None:
            return ""
        before, said = self.follower.mass, self._problem
        mass = self.follower.step(self.period_s)
        self._problem = self.follower.problem
        if not math.isclose(mass, before, abs_tol=1e-9):
            followed = self.payload._replace(mass=mass)
            try:
                if mass > self.payload.mass:
                    self._owner.require_holdable(followed)
                self._owner.use_payload(followed)
            except PickerError as error:
                self.follower.mass = before
                self._problem = f"the payload is heavier than {before:.3f} kg, not followed further: {error}"
            self._publish(self.follower.mass)
        return "" if said else self._problem

    def facts(self) -> dict[str, object]:
        """Facts about the followed payload, for the diagnostics."""
        if self.follower is None:
            return {"payload_follow": False}
        estimate = self.follower.estimate
        return {
            "payload_follow": True,
            "payload_followed_kg": self.mass,
            "payload_estimate_kg": "none" if estimate is None else estimate,
        }
