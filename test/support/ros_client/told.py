"""What a running graph tells of itself: diagnostics of its nodes, and the payload, as a client hears them."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rclpy.qos import QoSProfile

from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.runtime import LATCHED, payload_in
from picker_dynamics.session.entry import number_in

OK = DiagnosticStatus.OK

TOLD = QoSProfile(depth=30, reliability=LATCHED.reliability, durability=LATCHED.durability)
"""For ``/diagnostics``: each of several nodes has told something last, and with a depth of 1 only one of them is heard."""


class Told:
    """What a graph tells of itself: the entries of ``/diagnostics`` below its namespace, and the payload [kg]; None: not yet.

    Attributes:
        count: of the messages of its diagnostics that have come.
    """

    def __init__(self, namespace: str):
        self.namespace, self.payload_kg = namespace, None
        self.entries: dict[str, DiagnosticStatus] = {}
        self.count = 0

    def name_of(self, part: str) -> str:
        """Name of a diagnostic entry: ``hardware: supply``."""
        return "/".join(filter(None, (self.namespace, part)))

    def hear(self, node, qos=TOLD) -> list:
        """Listen to the graph with a node; its subscriptions.  ``qos``: of ``/diagnostics``."""
        return [
            node.create_subscription(DiagnosticArray, "/diagnostics", self.on_diagnostics, qos),
            node.create_subscription(InertiaStamped, "payload", self.on_payload, LATCHED),
        ]

    def on_diagnostics(self, message: DiagnosticArray) -> None:
        self.entries |= {entry.name: entry for entry in message.status}
        self.count += any(self._is_mine(entry.name) for entry in message.status)

    def on_payload(self, message: InertiaStamped) -> None:
        self.payload_kg = payload_in(message)[0]

    @property
    def complete(self) -> bool:
        """Whether hardware, dynamics and controller have told something, and the payload is known."""
        nodes = {name.partition(":")[0] for name in self._mine()}
        return self.payload_kg is not None and len(nodes) >= 3

    def _mine(self) -> dict[str, DiagnosticStatus]:
        """Those of this graph: ``/diagnostics`` is everybody's."""
        return {name: entry for name, entry in self.entries.items() if self._is_mine(name)}

    def _is_mine(self, name: str) -> bool:
        return name.rpartition("/")[0] == self.namespace

    @property
    def troubles(self) -> list[str]:
        """Troubles: what is said in entries that are not in order."""
        return [f"{name}: {entry.message}" for name, entry in self._mine().items() if entry.level != OK]

    def value(self, part: str, key: str) -> str | None:
        """A fact of a diagnostic entry, as text."""
        entry = self.entries.get(self.name_of(part))
        return None if entry is None else values_of(entry).get(key)

    def number(self, part: str, key: str) -> float | None:
        """A fact of a diagnostic entry as a number; None where it is none."""
        return number_in(self.value(part, key))
