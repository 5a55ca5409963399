"""Driver: a client that has the arm's lease for as long as it spins, sends one bounded motion at a time, and never waits.

Where it hangs, or is killed, it falls silent, and the controller lets the arm decelerate.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable

import numpy as np
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Header
from std_srvs.srv import SetBool, Trigger

from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.lease import Holder, Kind
from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.runtime import steady_timer, to_stamp

from .client import ArmClient
from .graph_client import ANSWER_S, SILENCE_S
from .lease_status import holders_in

BEAT_S = 0.02
"""How often a driver says that it is there [s]: a fifth of the silence with which it loses the arm."""

UNANSWERED_S = 1.0
"""A motion of which nobody has said anything by then was lost [s]."""

PAYLOAD = "dynamics/set_parameters"


class Request:
    """A service that was asked for, without waiting.

    Args:
        name: of the service.
        ask: asks, once; returns the future.
        text_of: what an answer says.
        repeat: ask again after each silence.
    """

    def __init__(self, name: str, ask: Callable, text_of: Callable[[object], str], repeat: bool):
        self._name, self._ask, self._text_of, self._repeat = name, ask, text_of, repeat
        self._asked, self._begin_s = [ask()], time.monotonic()

    def answer(self) -> str:
        """Answer in words; empty: none yet.  Of a request that was repeated the rest is waited for: it is carried out, too."""
        done, passed_s = [future for future in self._asked if future.done()], time.monotonic() - self._begin_s
        due = passed_s > SILENCE_S * len(self._asked)
        if done and (len(done) == len(self._asked) or due):
            return self._text_of(done[0].result())
        if passed_s > ANSWER_S:
            return f"{self._name} does not answer"
        if due and self._repeat:
            self._asked.append(self._ask())
        return ""


class Driver(ArmClient):
    """A client whose name is a driver's.

    Attributes:
        driver: that name.
        heard_s: when the newest state came, on the monotonic clock [s].
        refusal: why it does not have the arm; empty: it has, or nobody has answered yet.
    """

    def __init__(self, joint_names=(), namespace: str = ""):
        self.driver = f"{socket.gethostname().replace('/', '_')[:60]}.{os.getpid()}.{time.time_ns() % 10**6:06d}"
        self.heard_s, self.refusal, self.drives, self.leaving = -np.inf, "", False, False
        self._step, self._sent_s, self._steps = "", 0.0, 0
        super().__init__(joint_names, namespace)
        best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._beats = self.create_publisher(Header, "arm_controller/driver", best_effort)
        self._saying = threading.Lock()
        self._kinds = {"emergency_stop": SetBool, "reset": Trigger, "enable": SetBool, "adopt": Trigger, PAYLOAD: SetParameters}
        self._offered = {name: self.create_client(kind, name) for name, kind in self._kinds.items()}
        self._timer = steady_timer(self, BEAT_S, self.beat)

    def beat(self) -> None:
        """Say that this driver is there."""
        with self._saying:  # nothing is said after the farewell
            if not self.leaving:
                self._beats.publish(self._stamped(time.time()))

    def _stamped(self, time_s: float) -> Header:
        message = Header(frame_id=self.driver)
        to_stamp(message.stamp, time_s)
        return message

    def leave(self) -> None:
        """Give the arm back: what moves decelerates."""
        if self.under_way:
            self.goals.publish(self._goal([]))
        with self._saying:
            self.leaving = True
            self._beats.publish(self._stamped(0.0))

    # -- what is heard -------------------------------------------------------------------------------------

    def on_state(self, message) -> None:
        super().on_state(message)
        self.heard_s = time.monotonic()

    def on_controller(self, message) -> None:
        super().on_controller(message)
        values = values_of(message)
        self.drives = Holder(Kind.DRIVER, self.driver) in holders_in(values)
        if values.get("goal") == self.driver:
            self.refusal = message.message if values["outcome"] == EventKind.REFUSED.outcome else ""

    # -- motions -------------------------------------------------------------------------------------------

    @property
    def under_way(self) -> bool:
        """Whether a motion was sent that has not ended; one of which nobody has said anything is given up after a while."""
        if not self._step:
            return False
        said = self.outcomes.get(self._step)
        if said is None:
            return time.monotonic() - self._sent_s < UNANSWERED_S
        return values_of(said)["outcome"] == EventKind.ACCEPTED.outcome

    def ended(self) -> str | None:
        """Outcome of the motion that was sent last, once, when it has ended: empty where it is done; else None."""
        if not self._step or self.under_way:
            return None
        said = self.outcomes.pop(self._step, None)
        self._step = ""
        if said is None:
            return "the controller does not answer"
        return "" if values_of(said)["outcome"] == EventKind.DONE.outcome else said.message

    def begin_step(self, target: np.ndarray, duration_s: float) -> None:
        """Send a motion to rest at ``target`` (n,) [rad or m]; one at a time."""
        self.begin_motion(self.message([duration_s], [target]))

    def begin_motion(self, message) -> str:
        """Send a goal as this driver's; its name."""
        self._steps += 1
        self._step, self._sent_s = f"{self.driver}/{self._steps}", time.monotonic()
        message.header.frame_id = self._step
        self.goals.publish(message)
        return self._step

    # -- services ------------------------------------------------------------------------------------------

    def ask_to_stop(self) -> Request:
        """Latch the stop; it is asked for until that is answered."""
        return self._request("emergency_stop", SetBool.Request(data=True), repeat=True)

    def ask_to_reset(self) -> Request:
        return self._request("reset", Trigger.Request())

    def ask_to_enable(self) -> Request:
        """Outputs on, or, where they run, taken over."""
        if self.hardware.get("outputs") == "running":
            return self._request("adopt", Trigger.Request())
        return self._request("enable", SetBool.Request(data=True))

    def ask_to_carry(self, mass: float) -> Request:
        """Ask the graph to set the payload [kg]."""
        parameter: ParameterMessage = Parameter("payload.mass", value=float(mass)).to_parameter_msg()
        return self._request(PAYLOAD, SetParameters.Request(parameters=[parameter]), repeat=True)

    def _request(self, name: str, request, repeat: bool = False) -> Request:
        def words(response) -> str:
            if name != PAYLOAD:
                return f"{name}: {response.message}"
            result = response.results[0]
            return "payload set" if result.successful else f"payload refused: {result.reason}"

        return Request(name, lambda: self._offered[name].call_async(request), words, repeat)
