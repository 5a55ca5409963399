"""Executors for nodes that run hundreds of times a second, on little of a core: all that touches rclpy's private parts for it.

Each time rclpy's executor waits, it goes in Python through everything that the node has, and it waits twice for each
callback: it wakes itself in case another thread may now go on.  While the arm moves most of that is for nothing: services
for parameters and lifecycle, and one handler for each publisher and subscription that tells of incompatible QoS.  So

* ``FocusedExecutor`` looks at these ten times a second, whenever nothing else happens, and where something unseen ends a
  wait, but not at each wake-up; at action servers fifty times a second; and its thread does not wake itself.  A tick of the
  controller costs 0.30 ms of processor time instead of 0.50 (0.37 without the first, 0.40 without the second); three nodes at
  200 Hz took 36 % of a core instead of 46 %;
* it also wakes a wait when the wall clock was set back: DDS waits for a moment of that clock, and would wait as much longer;
* ``PacedExecutor`` sleeps, then takes what has come, then lets the node do its work, for nodes that look a few times a second;
* ``Polled`` is a subscription that wakes nobody: a wake-up for each of 50 joint states a second would cost 1.5 % of a core.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from itertools import filterfalse
from operator import attrgetter

from rclpy.action import ActionServer
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.node import Node
from rclpy.qos import QoSProfile

from .housekeeping import HousekeepingServices, is_about_parameters, is_housekeeping, refuse_what_cannot_be_served

LOOK_PERIOD_S = 0.1
ACTION_PERIOD_S = 0.02
LOOKS = 3
"""How many callbacks in a row everything is waited for: what is due at the first comes to its turn."""

CLOCK_PERIOD_S, CLOCK_JUMP_S = 0.02, 0.005
"""How often the wall clock is compared with the steady one, and a change that is a jump; a reference is sent 60 ms ahead."""

MOST_CALLBACKS = 100
"""In one turn of a node, so that a flood of messages cannot keep it from its work."""


class FocusedExecutor(SingleThreadedExecutor):
    """Spins ``node``: what it made itself at once, its housekeeping within ``LOOK_PERIOD_S``.

    ``spin_once`` also returns that often if nothing happens.
    """

    def __init__(self, node: Node):
        super().__init__()
        refuse_what_cannot_be_served(node)
        self._housekeeping = HousekeepingServices(node, self.create_task)
        self._view = _View(node, self._housekeeping)
        self.add_node(self._view)
        node.executor = self  # where an action server has its goals executed
        node.create_timer(LOOK_PERIOD_S, self._view.look_around, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._clock_watch = _ClockWatch(self.wake)
        self._clock_watch.start()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        self._clock_watch.over = True
        self._clock_watch.join()
        self._housekeeping.close()
        return super().shutdown(timeout_sec)

    def add_node(self, node) -> bool:
        """Add a node, of which only the view is spun."""
        return super().add_node(node) if isinstance(node, _View) else False

    def spin_once(self, timeout_sec: float | None = None) -> None:
        self._view.waits = 0
        try:
            handler, entity, _ = self.wait_for_ready_callbacks(timeout_sec, condition=self._view.before_a_wait)
        except (ShutdownException, TimeoutException):
            return
        self._view.looks -= entity is not None  # a task needs no look
        self._view.after_a_wait(entity)
        handler()
        handler.result()  # raises what the callback raised

    def _take_service(self, service):
        """As in rclpy, but requests that may be long are taken beside."""
        return super()._take_service(service) if not self._housekeeping.begin(service) else None

    def _make_handler(self, *arguments):
        """As in rclpy, but the handler triggers nothing: there is no other thread that it would have to wake."""
        guard, self._guard = self._guard, _Silent()
        try:
            return super()._make_handler(*arguments)
        finally:
            self._guard = guard


class _ClockWatch(threading.Thread):
    """Calls ``wake`` when the wall clock has jumped, until it is ``over``."""

    def __init__(self, wake: Callable[[], None]):
        super().__init__(name="clock watch", daemon=True)
        self._wake, self.over = wake, False

    def run(self) -> None:
        apart_s = time.time() - time.monotonic()
        while not self.over:
            time.sleep(CLOCK_PERIOD_S)
            before_s, apart_s = apart_s, time.time() - time.monotonic()
            if abs(apart_s - before_s) > CLOCK_JUMP_S:
                self._wake()


class _Silent:
    def trigger(self) -> None:
        """Wake nobody."""


class _View:
    """What the executor is shown of a node: all that it has, but for the services and waitables that can wait."""

    def __init__(self, node: Node, housekeeping: HousekeepingServices):
        self._node, self._housekeeping = node, housekeeping
        self._own_services = [one for one in node.services if not is_housekeeping(one)]
        self.looks = LOOKS
        self.waits = 0
        self._actions_s, self._actions = 0.0, False

    subscriptions, timers, clients, guards = (
        property(attrgetter(f"_node.{name}")) for name in ("subscriptions", "timers", "clients", "guards")
    )

    def look_around(self) -> None:
        self.looks = LOOKS

    def before_a_wait(self) -> bool:
        """Called before each wait, and once where the callbacks of the last one are done; False: do wait.

        A wait that brings no callback was ended by what is not looked at: an event of a subscription that is, for example.
        """
        self._actions = time.monotonic() >= self._actions_s
        self.waits += 1
        if self.waits > 2:
            self.look_around()
        return False

    def after_a_wait(self, entity) -> None:
        """It brought a callback of ``entity``, perhaps not the first one (None: a task, which needs no wait).

        Where an action server had something there may be more.
        """
        if entity is None:
            return
        if isinstance(entity, ActionServer):
            self._actions_s = 0.0
        elif self._actions:
            self._actions_s = time.monotonic() + ACTION_PERIOD_S
        self._actions = False

    @property
    def services(self) -> Iterable:
        return self._housekeeping.idle(self._node.services) if self.looks > 0 else self._own_services

    @property
    def waitables(self) -> Iterable:
        if self.looks > 0:
            return self._node.waitables
        return (one for one in self._node.waitables if isinstance(one, ActionServer)) if self._actions else ()


class PacedExecutor(SingleThreadedExecutor):
    """Spins ``node``, which has ``period_s`` [s] and ``every_period()``, however often messages come.

    A subscription of depth 1 has the newest message by then, and those in between were dropped by DDS at no cost in Python.
    """

    def __init__(self, node):
        super().__init__(context=node.context)
        refuse_what_cannot_be_served(node)
        self._node = node
        self._next_s = time.monotonic()
        self.add_node(node)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Sleep until the next turn, and take it."""
        time.sleep(max(self._next_s - time.monotonic(), 0.0))
        self._next_s = max(self._next_s + self._node.period_s, time.monotonic())
        for _ in range(MOST_CALLBACKS):
            try:
                handler, _, _ = self.wait_for_ready_callbacks(0.0)
            except (ShutdownException, TimeoutException):
                break
            handler()
            handler.result()  # raises what the callback raised
        self._node.every_period()


class _Never(CallbackGroup):
    """Its members are never ready: executors leave them out of what they wait for."""

    def can_execute(self, entity) -> bool:
        return False

    def beginning_execution(self, entity) -> bool:
        return False

    def ending_execution(self, entity) -> None:
        """Nothing ever began."""


class Polled:
    """The newest message of a topic, looked at when it is needed.

    Args:
        kind: message type.
        name: topic.
        qos: depth 1 is enough.
        raw: messages as bytes: a tenth of the cost, where not much of them matters.
    """

    def __init__(self, node, kind, name: str, qos: QoSProfile, raw: bool = False):
        self._raw = raw
        self._subscription = node.create_subscription(kind, name, lambda _message: None, qos, callback_group=_Never(), raw=raw)
        self.newest = self.info = None

    def take(self) -> list:
        """Messages that have come, each with its info, the oldest first."""
        handle, came = self._subscription.handle, []
        with handle:
            while (taken := handle.take_message(self._subscription.msg_type, self._raw)) is not None:
                came.append(taken)
        return came

    def look(self) -> bool:
        """Take what has come into ``newest``; whether there was something."""
        came = self.take()
        if came:
            self.newest, self.info = came[-1]
        return bool(came)


def serve_waiting(node: Node) -> None:
    """Carry out and answer the requests of a node's services that have come by now, before their turn."""
    for service in filterfalse(is_about_parameters, node.services):  # none of those undoes a stop
        for _ in range(MOST_CALLBACKS):
            with service.handle:
                request, header = service.handle.service_take_request(service.srv_type.Request)
            if header is None:
                break
            service.send_response(service.callback(request, service.srv_type.Response()), header)


def given_parameters(node: Node) -> list[str]:
    """Names of the parameters that a node was given at the start, declared or not."""
    return list(node._parameter_overrides)  # noqa: SLF001 (rclpy has no other way)
