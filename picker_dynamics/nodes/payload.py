"""What the tool carries: the parameters of the node that owns it, and the topic that tells everyone."""

from __future__ import annotations

from geometry_msgs.msg import InertiaStamped

from picker_dynamics.errors import InputError
from picker_dynamics.nodes.runtime import LATCHED, declare


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
        self.transition_s = declare(node, "payload.transition_s", 0.5, "duration of a change of payload [s]", low=0.0, high=10.0,
                                    read_only=True)
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
            raise InputError(f"payload.com has {len(com)} numbers, expected 3 [m]", joint="payload.com", value=len(com), limit=3)
        return tuple(com)

    def tell(self, mass: float, com) -> None:
        """Keep what has been taken, and tell everyone."""
        self.mass, self.com = float(mass), [float(x) for x in com]
        message = InertiaStamped()
        message.header.frame_id = self._tool
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.inertia.m = self.mass
        message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = self.com
        self._out.publish(message)
