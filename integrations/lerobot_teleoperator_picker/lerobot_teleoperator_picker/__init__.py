"""LeRobot teleoperator ``picker_leader``: an arm of bus servos that a hand moves; its torque is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lerobot.teleoperators import Teleoperator, TeleoperatorConfig
from lerobot_robot_picker.positions import Positions

from picker_dynamics import Arm
from picker_dynamics.errors import ClosedError
from picker_dynamics.scripting.equipment import equipment


@TeleoperatorConfig.register_subclass("picker_leader")
@dataclass
class PickerLeaderConfig(TeleoperatorConfig):
    """Which arm, and where.

    Attributes:
        port: of its bus.
        arm, servos, overlay: name or URDF, servo map, and differences from that; by default LeRobot's calibration of this id.
    """

    port: str = "/dev/ttyACM1"
    arm: str = "so101"
    servos: str = ""
    overlay: str = ""


class PickerLeader(Teleoperator):
    """A leader arm: actions are where its joints are, in the units of ``lerobot_robot_picker``."""

    config_class, name = PickerLeaderConfig, "picker_leader"
    is_calibrated = True  # LeRobot's calibration is an overlay
    feedback_features: dict[str, type] = {}  # the leader is limp

    def __init__(self, config: PickerLeaderConfig):
        super().__init__(config)
        self.config, self._arm, self._positions = config, None, Positions(equipment(config.arm, config.servos))

    @property
    def action_features(self) -> dict[str, type]:
        return self._positions.features

    @property
    def is_connected(self) -> bool:
        return self._arm is not None

    def calibrate(self) -> None:
        """Nothing to do here."""

    def connect(self, calibrate: bool = True) -> None:
        """Connect, and switch the torque off: hold the arm."""
        if self._arm is None:
            config = self.config
            overlay = config.overlay or (str(self.calibration_fpath) if self.calibration_fpath.is_file() else "")
            self._arm = Arm.leader(config.port, config.arm, config.servos, servo_overlay=overlay)

    def configure(self) -> None:
        """Nothing to do: torque is off, and nothing that servos keep is written."""

    def get_action(self) -> dict[str, Any]:
        """Return where the leader's joints are; raises a PickerError where it is not connected, or silent."""
        if self._arm is None:
            raise ClosedError("this teleoperator is not connected: connect() first")
        return self._positions.told(self._arm.q)

    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """Nothing to do."""

    def disconnect(self) -> None:
        """Close the bus; the arm stays limp."""
        arm, self._arm = self._arm, None
        if arm is not None:
            arm.close()
