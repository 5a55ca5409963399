"""What the graph tells of its arm: all of it for our own commands, and its URDF for everybody where nobody else publishes one."""

from __future__ import annotations

from std_msgs.msg import String

from picker_dynamics.robot import arm_text

from .runtime import LATCHED

ARM = "arm_controller/arm"
"""Topic with the arm as one text: URDF, and servos or efforts, as the graph uses them (``robot/arm_text.py``)."""

DESCRIPTION = "robot_description"

LOOKS = 3
"""In so many looks nobody else has published a description before this graph does: a robot_state_publisher comes up slowly."""


class ArmTopic:
    """Tells them; ``look``, called now and then, says the URDF where nobody else does, and withdraws it when somebody does.

    Two descriptions at once would be read in any order.
    """

    def __init__(self, node, known: arm_text.Known):
        self._node, self._alone = node, 0
        self._urdf, self._description_out = String(data=known.description.urdf), None
        self._arm_out = node.create_publisher(String, ARM, LATCHED)
        self._arm_out.publish(String(data=arm_text.text_of(known)))

    def look(self) -> None:
        ours = self._description_out is not None
        if self._node.count_publishers(DESCRIPTION) > ours:
            self._alone = 0
            if ours:
                self._node.destroy_publisher(self._description_out)
                self._description_out = None
        elif not ours:
            self._alone += 1
            if self._alone >= LOOKS:
                self._description_out = self._node.create_publisher(String, DESCRIPTION, LATCHED)
                self._description_out.publish(self._urdf)
