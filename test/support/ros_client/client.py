"""Client of an arm on a running graph: sends goals, stops, and waits for what becomes of it, as a person at a bench."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.board.session import State, what_enables
from picker_dynamics.errors import BlockedError, GoalAbortedError, GoalCancelledError, GoalRefusedError, LinkError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.lease import IF_FREE
from picker_dynamics.nodes.arm_topic import ARM
from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.runtime import LATCHED, LATEST, OUTCOMES
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.session.entry import number_in

from .graph_client import GraphClient
from .lease_status import holders_in
from .told import TOLD, Told

if TYPE_CHECKING:  # a command that moves nothing does not wait until these are loaded
    from picker_dynamics.robot.arm_text import Known
    from picker_dynamics.trajectory.trajectory import Trajectory

HEARD_S = 3.0
"""How long an arm that was just enabled, or a graph that was just started, has until its commands arrive [s]."""

NOBODY = "no controller and hardware node answer (is 'picker up' running, in this namespace and ROS_DOMAIN_ID?)"

MEANWHILE = 50
"""More messages than wait for a client that did not listen for a while."""

TOLD_S = 0.3
"""What was told of goals before a client came has arrived by then [s]: several messages, the present one last."""

MAKES = {
    ("reset", True): ("reset_needed", ("false",)),
    ("enable", True): ("state", ("enabling", "active")),
    ("enable", False): ("state", ("idle",)),
}
"""(Service, what was asked) -> field of hardware/status, and its values once that was carried out."""

SILENT_S = 15.0
"""So long one listens and hears no reference before the graph is gone for who waits for its motion [s]: longer than a network is
cut that no motion minds."""

ENDS = {EventKind.ABORTED.outcome: GoalAbortedError, EventKind.CANCELLED.outcome: GoalCancelledError}

OUTCOMES_KEPT = 500
"""Of so many goals the last word is remembered: a page that stays open for a season hears of more."""

MOVING = "executing", "streaming"
"""Phases of the controller in which somebody moves the arm."""


class ArmClient(GraphClient):
    """Talks to one running graph; use as a context manager.

    Args:
        joint_names: of the arm, in its order; empty: not known yet, states and references are not listened to.
        namespace: the graph's.
    """

    def __init__(self, joint_names, namespace: str = ""):
        super().__init__(namespace)
        self.joint_names = tuple(joint_names)
        self.controller: dict[str, str] = {}
        self.arm_name = ""
        self.hardware: dict[str, str] = {}
        self.outcomes: dict[str, DiagnosticStatus] = {}
        self.silent_s, self._unknown_s = 0.0, math.inf
        self.state: np.ndarray | None = None
        self.effort: np.ndarray | None = None
        self.desired: np.ndarray | None = None
        self.goals = self.create_publisher(JointTrajectory, "arm_controller/joint_trajectory", 10)
        self.create_subscription(DiagnosticStatus, "arm_controller/status", self.on_controller, OUTCOMES)
        self.create_subscription(DiagnosticStatus, "hardware/status", self.on_hardware, LATCHED)
        self.hear_motion()

    def hear_motion(self) -> None:
        """Take in joint states and references as they come."""
        self.create_subscription(JointState, "joint_states", self.on_state, 10)
        self.create_subscription(JointTrajectory, "arm_controller/reference", self.on_reference, LATEST)

    def spin_once(self, longest_s: float) -> None:
        began_s = time.monotonic()
        super().spin_once(longest_s)
        self.silent_s += min(time.monotonic() - began_s, longest_s)  # no longer than that did it listen, suspended or not

    def on_controller(self, message: DiagnosticStatus) -> None:
        self.controller = values_of(message) | {"message": message.message}
        self.arm_name = message.hardware_id
        goal = self.controller.get("goal")
        if goal:
            self.outcomes.pop(goal, None)
            self.outcomes[goal] = message
            if len(self.outcomes) > OUTCOMES_KEPT:
                going = EventKind.ACCEPTED.outcome
                over = (name for name, one in self.outcomes.items() if values_of(one).get("outcome") != going)
                del self.outcomes[next(over, next(iter(self.outcomes)))]

    def on_hardware(self, message: DiagnosticStatus) -> None:
        self.hardware = values_of(message) | {"message": message.message}

    def on_state(self, message: JointState) -> None:
        if self.joint_names:
            self.state = self.vector(message, "position")
            self.effort = self.vector(message, "effort") if len(message.effort) else None

    def vector(self, message: JointState, field: str) -> np.ndarray:
        """A field of ``joint_states``, in the order of the client's joints."""
        return ordered(message.name, getattr(message, field), self.joint_names, "joint_states")

    def on_reference(self, message: JointTrajectory) -> None:
        self.silent_s = 0.0
        if self.joint_names and message.points:
            self.desired = ordered(message.joint_names, message.points[0].positions, self.joint_names, "reference")

    def reference(self) -> np.ndarray:
        """The pose that the arm is told to hold now, (n,) [rad]."""
        self.desired = None
        self.wait(lambda: self.desired is not None, "no reference arrives")
        return self.desired

    def next_command(self, joint_names) -> JointState:
        """The next of ``joint_commands``, its positions in the order of ``joint_names``.

        Raises:
            LinkError: none comes: the arm is not active.
        """
        with self.hearing(JointState, "joint_commands", LATEST) as heard:
            self.wait(lambda: heard, "no joint_commands arrive")
        command = heard[0]
        command.position = ordered(command.name, command.position, tuple(joint_names), "joint_commands").tolist()
        return command

    def payload(self) -> float:
        """Payload that the graph believes the tool to carry [kg]."""
        with self.telling() as told:
            self.wait(lambda: told.payload_kg is not None, "no payload is told: is the dynamics node running?")
        return told.payload_kg

    def tip_speed(self) -> float:
        """Tip speed that the controller allows the tool [m/s]."""
        return float(self.get_parameters("trajectory_controller", ["tip_speed_limit"])[0].double_value)

    def listen(self, duration_s: float) -> tuple[np.ndarray, np.ndarray | None]:
        """Positions (s, n) [rad or m] of the states of the next ``duration_s`` [s], and efforts (s, n), or None without any.

        Raises:
            LinkError: no states come.
        """
        with self.hearing(JointState, "joint_states") as heard:
            self.spin(duration_s)
            self.wait(lambda: heard, "no joint_states arrive")
        positions = np.array([self.vector(one, "position") for one in heard])
        if not all(len(one.effort) for one in heard):
            return positions, None
        return positions, np.array([self.vector(one, "effort") for one in heard])

    # -- waiting -------------------------------------------------------------------------------------------

    def running_arm(self) -> Known:
        """The arm of the graph, as the graph tells it; a client without joints has its joints from now on.

        Raises:
            LinkError: nobody answers.
            ConfigurationError, DescriptionError: what it tells is damaged.
        """
        with self.hearing(String, ARM, LATCHED) as heard:
            from picker_dynamics.robot import arm_text  # while the graph is being found

            self.wait(lambda: heard, NOBODY)
        known = arm_text.read(heard[-1].data)
        self.joint_names = self.joint_names or known.description.joint_names
        return known

    def wait_holding(self, timeout_s: float | None = None) -> None:
        """Wait until the arm is enabled and stands still, ready for a goal; ANSWER_S by default."""
        self.wait(lambda: self.controller and self.hardware, NOBODY, timeout_s)
        self.wait(
            lambda: self.controller.get("phase") == "holding" and self.hardware.get("state") == "active",
            self.not_ready,
            timeout_s,
        )
        self.wait(lambda: self.state is not None and self.goals.get_subscription_count() > 0, "no joint_states arrive", timeout_s)
        self.wait_at_most(HEARD_S, lambda: self.hardware.get("commanded", "true") == "true")  # else a goal's answer says why

    def catch_up(self) -> None:
        """Take in what has come: a script does not listen all the time."""
        for _ in range(MEANWHILE):
            self.spin_once(0.0)

    def require_free(self) -> None:
        """Raise a GoalRefusedError where somebody else moves the arm: a goal would take it from another one's."""
        self.wait(lambda: self.controller, NOBODY)
        self.catch_up()
        self.wait_at_most(TOLD_S, lambda: not self.controller.get("lease"))
        if mover := self.controller.get("lease"):
            why = f"the arm is moved by another ({mover}): wait, or take it with --preempt or picker stop"
            raise GoalRefusedError(why, subject=mover)

    def not_ready(self) -> str:
        """Why the arm does not hold still, ready for a goal."""
        first = what_enables(self.hardware) if self.hardware.get("state") == State.IDLE.value else ""
        said = f"the arm is not ready: hardware: {self.hardware['message']}"
        if self.hardware["message"] not in self.controller["message"]:
            said += f"; controller: {self.controller['message']}"
        return said + (f"; {first} first" if first else "")

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until all nodes do their part after bring-up: the arm is held, and a goal that moves nothing is executed.

        Raises:
            LinkError: that takes longer than ``timeout_s``.
        """
        self.wait_holding(timeout_s)

        def executed() -> bool:
            try:
                self.move_through([0.2], [self.reference()])
            except GoalRefusedError:
                return False
            return True

        self.wait(executed, lambda: f"no goal is taken: {self.controller['message']}", timeout_s)

    # -- doing ---------------------------------------------------------------------------------------------

    def move_through(self, times_s, positions, timeout_s: float | None = None) -> float:
        """Move through positions (k, n) [rad] at ``times_s`` (k,) [s], at rest at the end; returns the duration [s].

        Raises:
            GoalRefusedError: the controller refused or aborted it; with its reason.
        """
        return self.send(self.message(times_s, positions), timeout_s)

    def message(self, times_s, positions) -> JointTrajectory:
        """A goal through positions (k, n) [rad or m] at ``times_s`` (k,) [s], at rest at the end."""
        zero = np.zeros(len(self.joint_names))
        rest = (zero, zero) if len(times_s) == 1 else ()
        return self._goal((time_s, position, *rest) for time_s, position in zip(times_s, positions))

    def follow(self, trajectory: Trajectory, timeout_s: float | None = None) -> float:
        """Execute a trajectory that starts where the arm is; returns the duration it really took [s]."""
        return self.send(self.message_along(trajectory), timeout_s)

    def message_along(self, trajectory: Trajectory) -> JointTrajectory:
        """A goal along a trajectory that starts where the arm is."""
        from picker_dynamics.execution.goal import along

        goal = along(trajectory)
        return self._goal(zip(goal.times_s, goal.positions, goal.velocities, goal.accelerations))

    def gripper_message(self, joint: int, at: float) -> JointTrajectory:
        """A goal for the gripper's joint alone, done at ``at`` [rad or m] or where what it grips stops it."""
        return self._goal([(0.0, [at])], [self.joint_names[joint]])

    def _goal(self, rows: Iterable[tuple], joint_names: Sequence[str] = ()) -> JointTrajectory:
        """Through (time, position, velocity, acceleration); of all joints, unless some are named."""
        from picker_dynamics.nodes.goal_messages import point

        return JointTrajectory(joint_names=list(joint_names or self.joint_names), points=[point(*row) for row in rows])

    def send(self, message: JointTrajectory, timeout_s: float | None = None) -> float:
        """Send a goal and wait until it is done, which may be longer than was told where it is slowed; Ctrl-C cancels it.

        Raises:
            GoalRefusedError: somebody else moves the arm; or it is refused, or aborted, with the controller's reason.
            LinkError: the graph is gone, or it takes longer than ``timeout_s``.
        """
        self.require_free()
        self.wait_holding()
        with self.cancelling():
            goal, duration = self.begin(message)
            self.wait(lambda: self.ended(goal), f"the motion of {duration:.1f} s did not end in time", timeout_s or math.inf)
        return duration

    def begin(self, message: JointTrajectory) -> tuple[str, float]:
        """Send a goal; returns its name and the duration of the motion [s] when it is accepted.

        Where it is refused because a node was not heard for a moment, it is sent again as soon as goals are taken.
        """
        deadline = time.monotonic() + HEARD_S
        goal, values = self._answered(message)
        while values.get("error") == BlockedError.__name__ and time.monotonic() < deadline:
            self.wait_at_most(deadline - time.monotonic(), partial(self._more_was_said_than_of, goal))
            goal, values = self._answered(message)
        self._require(goal, EventKind.ACCEPTED, EventKind.DONE)
        return goal, float(values.get("duration_s", "nan"))

    def _answered(self, message: JointTrajectory) -> tuple[str, dict[str, str]]:
        """Send a goal; its name, and the fields of what the controller says to it."""
        goal = message.header.frame_id = f"{IF_FREE}{uuid.uuid4().hex}"
        self.goals.publish(message)
        self.wait(lambda: goal in self.outcomes, "the controller does not answer")
        return goal, values_of(self.outcomes[goal])

    def _more_was_said_than_of(self, goal: str) -> bool:
        return self.controller.get("goal") != goal

    def ended(self, goal: str) -> bool:
        """Whether a goal that was accepted is done.

        Raises:
            GoalAbortedError: it ended in another way.
            LinkError: nothing comes any more, or of a controller that does not know it.
        """
        if self.silent_s > SILENT_S:  # it may be back
            self.catch_up()
        self._require(goal, EventKind.ACCEPTED, EventKind.DONE)
        if values_of(self.outcomes[goal])["outcome"] == EventKind.DONE.outcome:
            return True
        if self.silent_s > SILENT_S:
            why = f"nothing came of the graph for {SILENT_S:g} s: what becomes of the motion is not known"
            raise LinkError(why, value=self.silent_s, limit=SILENT_S)
        now_s = time.monotonic()
        known = "lease" not in self.controller or any(one.identifier == goal for one in holders_in(self.controller))
        self._unknown_s = math.inf if known else min(self._unknown_s, now_s)
        if now_s - self._unknown_s > HEARD_S:
            raise LinkError("the controller knows nothing of the motion any more: was it started anew?")
        return False

    @contextmanager
    def cancelling(self) -> Iterator[None]:
        """Ctrl-C within cancels the motion under way."""
        try:
            yield
        except (KeyboardInterrupt, RuntimeError):  # rclpy makes one of the other where a message is being converted
            self.cancel()
            raise

    def cancel(self) -> None:
        """Let the motion under way decelerate to a hold, whoever moves the arm."""
        self.wait(lambda: self.controller and self.goals.get_subscription_count() > 0, NOBODY)
        self.goals.publish(JointTrajectory(joint_names=list(self.joint_names)))
        self.wait(lambda: self.controller["phase"] not in MOVING, "the controller does not answer")

    def _require(self, goal: str, *kinds: EventKind) -> None:
        answer = self.outcomes[goal]
        values = values_of(answer)
        if values["outcome"] not in [kind.outcome for kind in kinds]:
            raise ENDS.get(values["outcome"], GoalRefusedError)(
                answer.message,
                subject=values.get("joint"),
                value=number_in(values.get("value")),
                limit=number_in(values.get("limit")),
            )

    def trigger(self, name: str) -> str:
        """Call a std_srvs/Trigger; its message, or an error with it."""
        return self._told(self.call(Trigger, name, Trigger.Request(), self._brought_about(name, True)))

    def switch(self, name: str, on: bool) -> str:
        """Call a std_srvs/SetBool; its message, or an error with it."""
        return self._told(self.call(SetBool, name, SetBool.Request(data=on), self._brought_about(name, on)))

    def stop(self) -> str:
        """Latch the stop; asked for until it is answered, or the hardware says so of itself."""
        name = "emergency_stop"
        return self._told(self.call(SetBool, name, SetBool.Request(data=True), self.is_stopped, repeat=True))

    def is_stopped(self) -> bool:
        """Whether the hardware has said that a stop is latched, and that it takes a reset again."""
        return self.hardware.get("stop_latched") == "true" and self.hardware.get("settling") != "true"

    def _brought_about(self, service: str, on: bool) -> Callable[[], bool]:
        """Whether the hardware has said, from now on, that it is as this service makes it."""
        before = self.hardware

        def seen() -> bool:
            field, wanted = MAKES.get((service, on), ("", ()))
            return self.hardware is not before and self.hardware.get(field) in wanted

        return seen

    def diagnostic(self, node: str, key: str) -> float:
        """A number that a node of this graph reports in ``/diagnostics`` from now on."""
        with self.telling(latched=False) as told:
            self.wait(lambda: told.value(node, key), f"{told.name_of(node)} reports no {key}")
            return float(told.value(node, key))

    @contextmanager
    def telling(self, latched: bool = True) -> Iterator[Told]:
        """What this graph tells of itself meanwhile; ``latched``: what it told last, too."""
        told = Told(self.get_namespace().strip("/"))
        of_graph = told.hear(self, TOLD if latched else 10)
        try:
            yield told
        finally:
            for subscription in of_graph:
                self.destroy_subscription(subscription)

    def _told(self, response) -> str:
        """What a service says of what it did; what the hardware says of itself is an answer too."""
        if response is None:
            return self.hardware["message"]
        if not response.success:
            raise PickerError(response.message)
        return response.message
