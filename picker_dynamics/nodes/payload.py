"""What the tool carries: the parameters of the node that owns it, the topic that tells everyone, and following it."""

from __future__ import annotations

import math
from collections.abc import Callable

from geometry_msgs.msg import InertiaStamped

from picker_dynamics.control.payload_follow import PayloadFollower
from picker_dynamics.errors import InputError, PickerError

from .runtime import LATCHED, declare

FOLLOW_PERIOD_S = 0.2
"""How often what is believed may change [s]; never more often than ``payload.transition_s``: one change is over when the next
begins."""


class Payload:
    """Declares ``payload.mass``, ``payload.com`` and ``payload.transition_s``, and publishes ``payload``.

    Args:
        node: the owner.
        tool: frame in which the centre of mass is given.

    Attributes:
        mass: [kg].  com: [m], tool frame.  At first what the parameters say; nobody has been told yet.
        transition_s: duration of a change [s].
    """

    def __init__(self, node, tool: str):
        self._node, self._tool = node, tool
        self.mass = declare(node, "payload.mass", 0.0, "mass at the tool, beside what the URDF has there [kg]", low=0.0, high=5.0)
        self.com = declare(node, "payload.com", [0.0, 0.0, 0.0], "centre of mass of the payload in the tool frame [m]")
        self.transition_s = declare(
            node, "payload.transition_s", 0.5, "duration of a change of payload [s]", low=0.0, high=10.0, read_only=True
        )
        self._out = node.create_publisher(InertiaStamped, "payload", LATCHED)

    def wanted(self, parameters: dict[str, object]) -> tuple[float, list[float]] | None:
        """Mass and centre of mass as these new parameter values say; None where they are about something else."""
        if "payload.mass" not in parameters and "payload.com" not in parameters:
            return None
        return parameters.get("payload.mass", self.mass), parameters.get("payload.com", self.com)

    @staticmethod
    def require_vector(com) -> tuple[float, float, float]:
        """``com`` as three numbers; InputError where it is not."""
        if len(com) != 3:
            raise InputError(
                f"payload.com has {len(com)} numbers, expected 3 [m]", subject="payload.com", value=len(com), limit=3
            )
        return tuple(com)

    def tell(self, mass: float, com, followed: float = 0.0) -> None:
        """Keep what has been taken, and tell everyone: motions have to bear the heavier of it and what is ``followed`` [kg]."""
        self.mass, self.com = float(mass), [float(x) for x in com]
        message = InertiaStamped()
        message.header.frame_id = self._tool
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.inertia.m = max(self.mass, followed)
        message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = self.com
        self._out.publish(message)


class Following:
    """Follows the payload while ``payload.follow`` is on: the efforts say what is believed, as far as they may.

    The controller believes what is followed.  Everyone else is told the heavier of that and ``payload.mass``, so an estimate
    never allows a motion that would be refused without it.  Off, it costs nothing: no timer, no subscription.

    Args:
        node: the owner; declares its parameters.
        payload: what is set.
        make: a follower, given ``com``, ``max_kg``, ``rate_kg_s`` and ``start_kg``.
        believe: has the controller believe a mass [kg]; raises where the pose could not be held with it.
        switched: called with True and False, for what is needed only meanwhile.

    Attributes:
        obstacle: for the owner to say why nothing can be learned now; empty where something is.
    """

    def __init__(
        self,
        node,
        payload: Payload,
        make: Callable[..., PayloadFollower],
        believe: Callable[[float], None],
        switched: Callable[[bool], None] = lambda _on: None,
    ):
        self._node, self._payload, self._make, self._believe, self._switched = node, payload, make, believe, switched
        self.wished = declare(
            node, "payload.follow", False, "follow the payload by what the joints measure; refused where they measure nothing"
        )
        self._max = declare(node, "payload.follow_max", 0.5, "largest mass that is followed [kg]", low=0.001, high=5.0)
        self._rate = declare(node, "payload.follow_rate", 0.1, "fastest change of what is followed [kg/s]", low=0.001, high=5.0)
        self.period_s = max(payload.transition_s, FOLLOW_PERIOD_S)
        self.provenance = ""
        self.follower: PayloadFollower | None = None
        self._timer = None
        self._problem = self.obstacle = ""

    @property
    def problem(self) -> str:
        """Why it does not follow, or not further."""
        return self._problem or (self.obstacle if self.on else "")

    @property
    def on(self) -> bool:
        return self.follower is not None

    @property
    def mass(self) -> float:
        """What is followed [kg]; 0 while nothing is."""
        return self.follower.mass if self.follower is not None else 0.0

    @property
    def believed(self) -> float:
        """What the controller is to believe [kg]."""
        return self.follower.mass if self.follower is not None else self._payload.mass

    # -- on and off ------------------------------------------------------------------------------------------

    def require(self, parameters: dict[str, object], mass: float) -> None:
        """Raise an InputError where these new values do not fit, ``mass`` [kg] being what is to be set."""
        wished, most = parameters.get("payload.follow", self.wished), parameters.get("payload.follow_max", self._max)
        if not wished:
            return
        if parameters.get("payload.follow") and self.provenance != "measured":
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

    def apply(self, parameters: dict[str, object]) -> None:
        """Take new values that passed ``require``."""
        self._max = parameters.get("payload.follow_max", self._max)
        self._rate = parameters.get("payload.follow_rate", self._rate)
        self.wished = parameters.get("payload.follow", self.wished)
        if self.on and "payload.com" in parameters:
            self._start(self.mass)
        elif self.on:
            self.follower.limit(self._max, self._rate)
        self.follow_or_not()

    def measured(self, provenance: str) -> None:
        """Where ``joint_states`` come from, as the hardware says: begin what was wished at the start, or end it."""
        if provenance:
            self.provenance = provenance
        if self.wished and self.provenance and self.provenance != "measured":
            self._problem = f"payload.follow is on, but joint_states are {self.provenance}, not measured: nothing is followed"
        elif self.wished and self._payload.mass > self._max:
            self._problem = f"payload.mass is {self._payload.mass:g} kg, above payload.follow_max, {self._max:g} kg: not followed"
        self.follow_or_not()

    def follow_or_not(self) -> None:
        """Begin or end, as wished and possible."""
        begin = self.wished and self.provenance == "measured" and self._payload.mass <= self._max
        if begin and not self.on:
            self._start(self._payload.mass)
            self._timer = self._node.create_timer(self.period_s, self.on_step)
            self._switched(True)
        elif self.on and not begin:
            self._switched(False)
            self._node.destroy_timer(self._timer)
            self.follower = self._timer = None
            self._believe(self._payload.mass)
            self._payload.tell(self._payload.mass, self._payload.com)
        if not self.wished:
            self._problem = ""

    def _start(self, mass: float) -> None:
        self.follower = self._make(com=tuple(self._payload.com), max_kg=self._max, rate_kg_s=self._rate, start_kg=mass)
        self._problem = self.obstacle = ""

    # -- meanwhile -------------------------------------------------------------------------------------------

    def on_step(self) -> None:
        """Believe what the efforts say, a step further; not what could not be held here."""
        before = self.follower.mass
        mass = self.follower.step(self.period_s)
        problem = self.follower.problem
        if not math.isclose(mass, before, abs_tol=1e-9):
            try:
                self._believe(mass)
            except PickerError as error:
                self.follower.mass = before
                problem = f"the payload is heavier than {before:.3f} kg, not followed further: {error}"
            self._payload.tell(self._payload.mass, self._payload.com, mass)
        if problem and not self._problem:
            self._node.get_logger().warning(problem)
        self._problem = problem

    def facts(self) -> dict:
        """For the diagnostics."""
        if not self.on:
            return {"payload_follow": False}
        estimate = self.follower.estimate
        return {
            "payload_follow": True,
            "payload_followed_kg": self.mass,
            "payload_estimate_kg": "none" if estimate is None else estimate,
        }
