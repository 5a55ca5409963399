"""LeRobot robot ``picker``: an arm under picker_dynamics, which keeps its limits; units of positions: ``positions.py``."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from lerobot.cameras import CameraConfig, make_cameras_from_configs
from lerobot.robots import Robot, RobotConfig

from picker_dynamics import Arm
from picker_dynamics.errors import ClosedError, JointNamesError
from picker_dynamics.scripting.equipment import equipment

from .positions import Positions


@RobotConfig.register_subclass("picker")
@dataclass
class PickerConfig(RobotConfig):
    """Which arm, and where.

    Attributes:
        arm, servos, overlay: name or URDF, servo map, and differences from that; by default LeRobot's calibration of this id.
        port: of its bus or board; ``sim``: a simulated arm; empty: the arm that runs (``picker up``), on ``host`` if not here.
    """

    arm: str = "so101"
    servos: str = ""
    overlay: str = ""
    port: str = ""
    host: str = ""
    cameras: dict[str, CameraConfig] = field(default_factory=dict)


class Picker(Robot):
    """An arm, ``arm`` once it is connected: observations are measured positions, actions desired ones."""

    config_class, name = PickerConfig, "picker"
    is_calibrated = True  # `picker calibrate` does that; LeRobot's calibration is an overlay

    def __init__(self, config: PickerConfig):
        super().__init__(config)
        self.config, self.arm, self._seen_s = config, None, 0.0
        self.cameras, self._positions = make_cameras_from_configs(config.cameras), Positions(equipment(config.arm, config.servos))

    @property
    def action_features(self) -> dict[str, type]:
        return self._positions.features

    @property
    def observation_features(self) -> dict[str, Any]:
        return self.action_features | {name: (one.height, one.width, 3) for name, one in self.config.cameras.items()}

    @property
    def is_connected(self) -> bool:
        return self.arm is not None

    def calibrate(self) -> None:
        """Nothing to do here."""

    def connect(self, calibrate: bool = True) -> None:
        """Connect, and enable the arm where it is; another arm, a missing servo and the like are said, and nothing moves."""
        config = self.config
        overlay = config.overlay or (str(self.calibration_fpath) if self.calibration_fpath.is_file() else "")
        if config.port == "sim":
            self.arm = Arm.simulated(config.arm, config.servos)
        elif config.port:
            self.arm = Arm.open(config.port, config.arm, config.servos, servo_overlay=overlay)
        else:
            self.arm = Arm.connect(host=config.host)
        try:
            if tuple(Positions(self.arm.known).features) != tuple(self.action_features):
                raise JointNamesError(f"the arm that runs is {self.arm.description.name}, not {config.arm}", "arm", config.arm)
            self.configure()
            for camera in self.cameras.values():
                camera.connect()
        except BaseException:
            self.disconnect()
            raise

    def configure(self) -> None:
        """Enable the arm where it is not."""
        if self._connected().status().state != "active":
            self._connected().enable()

    def get_observation(self) -> dict[str, Any]:
        """Return where the joints are, and pictures."""
        return self._positions.told(self._connected().q) | {name: one.async_read() for name, one in self.cameras.items()}

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Send the joints to ``action``; returns where the arm is sent now.  Raises a PickerError that says why it holds."""
        return self._positions.told(self._connected().stream(self._positions.read(action)))

    def disconnect(self) -> None:
        """Let the arm come to rest, and leave it so: torque stays on (``picker relax``, or its switch)."""
        arm, self.arm = self.arm, None
        for camera in self.cameras.values():
            if camera.is_connected:
                camera.disconnect()
        if arm is not None:
            arm.close()

    def _connected(self) -> Arm:
        """The arm; the time of a simulated one passes here."""
        if self.arm is None:
            raise ClosedError("this robot is not connected: connect() first")
        since_s, self._seen_s = min(time.monotonic() - self._seen_s, 0.2), time.monotonic()
        if self.config.port == "sim":
            self.arm.wait(since_s)
        return self.arm
