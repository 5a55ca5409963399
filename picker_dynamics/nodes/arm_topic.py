"""Which arm runs, as topics: all of it as one text, and its URDF where nobody else publishes one."""

from __future__ import annotations

from std_msgs.msg import String

from picker_dynamics.robot import arm_text

from .runtime import LATCHED

DESCRIPTION = "robot_description"

LOOKS = 3
"""In so many looks nobody else has published a description before this node does: a robot_state_publisher comes up slowly."""


class ArmTopic:
    """Publishes ``arm_controller/arm``; ``look``, called now and then, publishes the URDF where nobody else does.

    It is withdrawn when somebody else publishes one: two descriptions at once would be read in any order.
    """

    def __init__(self, node, known: arm_text.Known):
        self._node, self._looks, self._urdf, self._description_out = node, 0, known.description.urdf, None
        self._arm_out = node.create_publisher(String, "arm_controller/arm", LATCHED)
        self._arm_out.publish(String(data=arm_text.text_of(known)))

    def look(self) -> None:
        ours = self._description_out
        if self._node.count_publishers(DESCRIPTION) > (ours is not None):
            self._looks = 0
            if ours is not None:
                self._node.destroy_publisher(ours)
                self._description_out = None
        elif ours is None:
            self._looks += 1
            if self._looks >= LOOKS:
                self._description_out = self._node.create_publisher(String, DESCRIPTION, LATCHED)
                self._description_out.publish(String(data=self._urdf))
