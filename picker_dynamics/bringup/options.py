"""Options of a bring-up: what a person may choose, and what does not fit together, said before anything starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.fields import number
from picker_dynamics.session.address import require_namespace

if TYPE_CHECKING:  # every command reads this; few of them need an arm's files
    from picker_dynamics.robot.arms import Arm

CHOICES = {
    "hardware": ("sim", "serial"),
    "board": ("virtual", "avr"),
    "servo": ("typical", "ideal"),
    "compensation": ("", "none", "gravity", "full"),
    "on_shutdown": ("", "hold", "park", "relax"),
    "log_level": ("debug", "info", "warn", "error", "fatal"),
}
"""What may be chosen of what there is; other numbers than the payload's, and files, are checked by who uses them."""

PAYLOAD_MAX_KG = 5.0
"""As of the parameter ``payload.mass``."""

SWITCH = {"true": True, "1": True, "false": False, "0": False}
"""What may be written for a switch of a launch file, in capitals too."""

FOR_SERVOS = ("board", "servo", "servos", "servo_overlay", "compensation", "on_shutdown")


def switch(name: str, text: str) -> bool:
    """Whether what a person writes for a switch switches it on; a ConfigurationError where it is no ``SWITCH``."""
    if (word := text.lower()) not in SWITCH:
        raise ConfigurationError(f"{name} is {text!r}, must be true or false", subject=name, value=text)
    return SWITCH[word]


@dataclass(frozen=True)
class Options:
    """Options that a person may choose at bring-up; None or empty: as the parameter file says.

    Args:
        hardware: ``sim`` (virtual board and arm) or ``serial``.
        board: with ``sim``, ``virtual`` (the firmware's model) or ``avr`` (the real firmware on a simulated Uno).
        arm: a name in config/arms.yaml; instead of ``urdf``.
        port: serial port of the board; only with ``serial``.
        namespace: ROS namespace; two arms side by side need two.
        arms: a file like config/arms.yaml that has the arm; its URDF is ``urdf``, or ARM.urdf beside that file.
        urdf, servos, servo_overlay, params_file: files.
        compensation: ``none``, ``gravity`` or ``full``.
        payload_mass: [kg].
        rate_hz: of the reference [Hz].
        tip_speed_limit: [m/s].
        on_shutdown: what the arm does at Ctrl-C.
        plant_error, seed: how far the simulated arm differs from its URDF.
        servo: the simulated servos: ``typical``, with friction and play, or ``ideal``.
        directory: that exists, for the virtual board's port and control socket; by default ``graph`` makes one that only
            this user can enter.  Who runs the graph removes it.
        log_level: of the nodes.
        scene: scene file like config/scene.yaml; enables collision.
        collision: hold motions clear of the arm itself and of the scene.
        markers: also what RViz shows beside the model.
        view: also the page in the browser.
        pick: also what picks as a camera node says.
        cameras: hand-eye transforms for that, a file like config/cameras.yaml.

    Raises:
        ConfigurationError: options that cannot be, or do not fit together.
    """

    hardware: str = "sim"
    board: str = "virtual"
    arm: str = ""
    port: str = ""
    namespace: str = ""
    urdf: str = ""
    arms: str = ""
    servos: str = ""
    servo_overlay: str = ""
    params_file: str = ""
    compensation: str = ""
    payload_mass: float | None = None
    rate_hz: float | None = None
    tip_speed_limit: float | None = None
    on_shutdown: str = ""
    plant_error: float = 0.0
    seed: int = 0
    servo: str = "typical"
    directory: str = ""
    log_level: str = "info"
    scene: str = ""
    collision: bool = False
    markers: bool = False
    view: bool = False
    pick: bool = False
    cameras: str = ""

    def __post_init__(self):
        for name, allowed in CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                one_of = ", ".join(filter(None, allowed))
                raise ConfigurationError(f"{name} is {value!r}, must be one of {one_of}", name, value)
        require_namespace(self.namespace)
        if self.params_file:  # ROS parses it without bounds, in each node
            from picker_dynamics.files.formats import read_yaml

            read_yaml(self.params_file, "params_file", ConfigurationError)
        if self.payload_mass is not None:
            number(self.payload_mass, "payload_mass", (0.0, True, PAYLOAD_MAX_KG), unit="kg")
        torque, sim = self.torque_controlled, self.hardware == "sim"
        joints = f"arm {self.arm or Path(self.urdf).stem} has torque-controlled joints, no servos: it can only be simulated"
        for wrong, names, why in (
            (not sim, ("plant_error", "servo", "board"), "hardware is serial: only a simulated one can be chosen"),
            (sim, ("port",), "hardware is sim"),
            (self.arm, ("urdf",), f"the arm {self.arm} is given too: not both"),
            (torque, ("hardware", *FOR_SERVOS), joints),
        ):
            for name in names:
                value = getattr(self, name)
                if wrong and value != getattr(Options, name):
                    raise ConfigurationError(f"{name} is {value}, but {why}", name, value)
        if not sim and not self.port:
            raise ConfigurationError("hardware is serial, but no port is given (for example /dev/ttyACM0)", "port")

    @property
    def torque_controlled(self) -> bool:
        """Whether the joints take efforts: no servos, no board."""
        return self.entry is not None and self.entry.control == "torque"

    @cached_property
    def entry(self) -> Arm | None:
        """The arm, where a file of named arms has it."""
        from picker_dynamics.robot import arms

        named = self.arm or (self.arms and self.urdf)
        return arms.load(self.arm, self.arms or None, "" if self.arm else self.urdf) if named else None

    @property
    def urdf_path(self) -> str:
        """The URDF of the arm, whatever names it."""
        from picker_dynamics.robot import arms

        return self.urdf or str(arms.urdf_of(self.arm or arms.DEFAULT, self.arms))

    @property
    def servo_urdf(self) -> str:
        """The same for who knows no names; empty: the picker's, or that of a named arm whose joints take efforts."""
        from picker_dynamics.robot import arms

        return self.urdf if self.torque_controlled or self.arm in ("", arms.DEFAULT) else self.urdf_path

    @property
    def frame_prefix(self) -> str:
        """Prefix to the names of this arm's frames."""
        namespace = self.namespace.strip("/")
        return f"{namespace}/" if namespace else ""
