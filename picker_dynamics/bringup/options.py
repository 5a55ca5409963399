"""Options of a bring-up: what a person may choose, and what does not fit together, said before anything starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.session.address import require_namespace

if TYPE_CHECKING:  # every command reads this; few of them need an arm's files
    from picker_dynamics.robot.arms import Arm

HARDWARE = ("sim", "serial")
BOARDS = ("virtual", "avr")
SIMULATED_SERVOS = ("typical", "ideal")

COMPENSATION = ("none", "gravity", "full")
ON_SHUTDOWN = ("hold", "park", "relax")
LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")
RANGES = {
    "payload_mass": (0.0, 5.0, "kg"),
    "rate_hz": (10.0, 500.0, "Hz"),
    "tip_speed_limit": (0.01, 2.0, "m/s"),
    "plant_error": (0.0, 0.5, ""),
}
"""What numbers may be, and their unit; the nodes refuse the same."""

FILES = ("scene", "cameras", "urdf", "arms", "servos", "servo_overlay", "params_file")
FOR_SERVOS = ("board", "servo", "servos", "servo_overlay", "compensation", "on_shutdown")


@dataclass(frozen=True)
class Options:
    """Options that a person may choose at bring-up; None or empty: the default of the nodes.

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
        scene: file like config/scene.yaml: what stands about the arm; enables collision.
        collision: hold motions clear of the arm itself and of the scene.
        markers: also what RViz shows beside the model.
        view: also the page in the browser.
        pick: also what picks as a camera node says.
        cameras: hand-eye transforms for that, a file like config/cameras.yaml.
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
        choices = {
            "hardware": HARDWARE,
            "board": BOARDS,
            "servo": SIMULATED_SERVOS,
            "compensation": ("", *COMPENSATION),
            "on_shutdown": ("", *ON_SHUTDOWN),
            "log_level": LOG_LEVELS,
        }
        for name, allowed in choices.items():
            if (value := getattr(self, name)) not in allowed:
                choices = ", ".join(filter(None, allowed))
                raise ConfigurationError(f"{name} is {value!r}, must be one of {choices}", subject=name, value=value)
        require_namespace(self.namespace)
        for name in FILES:
            path = getattr(self, name)
            if path and not Path(path).is_file():
                raise ConfigurationError(f"{name}: no such file: {path}", subject=name, value=path)
        if self.params_file:  # ROS parses it without bounds, in each node
            from picker_dynamics.files.formats import read_yaml

            read_yaml(self.params_file, "params_file", ConfigurationError)
        from picker_dynamics.robot.servo_map import SERVO_RATE_HZ

        torque, sim = self.torque_controlled, self.hardware == "sim"
        for name, (low, high, unit) in RANGES.items():
            if name == "rate_hz" and not torque:
                high, unit = SERVO_RATE_HZ, f"Hz for servos on a board (torque-controlled arms: to {high:g} Hz)"
            value = getattr(self, name)
            if value is not None and not low <= value <= high:  # NaN is not
                raise ConfigurationError(
                    f"{name} is {value:g}, must be {low:g} to {high:g} {unit}".rstrip(),
                    subject=name,
                    value=value,
                    limit=low if value < low else high,
                )
        joints = f"arm {self.arm or Path(self.urdf).stem} has torque-controlled joints"
        simulated = f"hardware is {self.hardware}: only a simulated one can be chosen"
        for name, wrong, why in (
            *((name, not sim, simulated) for name in ("plant_error", "servo", "board")),
            ("servo", self.servo_overlay, "a servo_overlay says what servos are like"),
            ("port", sim, "hardware is sim"),
            ("arms", not (self.arm or self.urdf), "neither a urdf nor an arm of that file"),
            ("arms", self.entry and not torque, f"it has {self.arm or self.urdf} with servos: leave it out, give a urdf"),
            ("cameras", not self.pick, "nothing is to be picked: add pick"),
            ("urdf", self.arm, f"the arm {self.arm} is given too: not both"),
            ("hardware", torque, f"{joints}: there is no driver for such hardware, it can only be simulated"),
            *((name, torque, f"{joints}, no servos") for name in FOR_SERVOS),
        ):
            value = getattr(self, name)
            if wrong and value != getattr(Options, name):
                raise ConfigurationError(f"{name} is {value}, but {why}", subject=name, value=value)
        if not sim and not self.port:
            raise ConfigurationError("hardware is serial, but no port is given (for example /dev/ttyACM0)", subject="port")

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
    def frame_prefix(self) -> str:
        """Prefix to the names of this arm's frames."""
        namespace = self.namespace.strip("/")
        return f"{namespace}/" if namespace else ""
