"""Graph of processes as data, described once: ``picker up`` and launch/picker.launch.py both read it."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from picker_dynamics import lifeline
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.assumed_servos import SIMULATED_SERVOS
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.scene import read_scene
from picker_dynamics.robot.servo_map import SERVO_RATE_HZ, ServoMap
from picker_dynamics.robot.sighting import read_cameras
from picker_dynamics.robot.srdf import read_srdf

from .processes import BoardSpec, CommandSpec, NodeSpec, TogetherSpec

HARDWARE = ("sim", "serial")
BOARDS = ("virtual", "avr")

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

FILES = ("scene", "srdf", "cameras", "urdf", "arms", "servos", "servo_overlay", "params_file", "plant_urdf", "plant_overlay")
FOR_SERVOS = ("servo", "servos", "servo_overlay", "compensation", "on_shutdown")

NAMESPACE = re.compile(r"/?([A-Za-z_]\w*(/[A-Za-z_]\w*)*)?", re.ASCII)

SIMULATED_HOST_TIMEOUT_S = 2.0
"""Silence of the host after which a simulated board latches HOST_LOST [s]: a real one has 0.25 s, but no computer to share with
its host.  Either comes to rest as soon as it runs out of set-points."""

LOCAL_ONLY = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
"""Discovery stays on this machine unless the user's environment says otherwise."""

REACH = (
    *LOCAL_ONLY,
    "ROS_STATIC_PEERS",
    "ROS_LOCALHOST_ONLY",
    "ROS_DISCOVERY_SERVER",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "CYCLONEDDS_URI",
    "ZENOH_SESSION_CONFIG_URI",
    "ZENOH_CONFIG_OVERRIDE",
)
"""Variables by which a user says how far discovery reaches."""


def local_only(environment: Mapping[str, str]) -> dict[str, str]:
    """What is to be added to that environment so that ROS stays on this machine: nothing where its user has chosen."""
    return {} if any(environment.get(name) for name in REACH) else dict(LOCAL_ONLY)


NAMESPACE_MAX = 150
"""Longest namespace: with the names of actions behind it a topic's has 255 characters at the most."""


def require_namespace(namespace: str) -> None:
    """Raise a ConfigurationError where ROS would not take this as a namespace."""
    if len(namespace) > NAMESPACE_MAX:
        raise ConfigurationError(
            f"namespace has {len(namespace)} characters, at most {NAMESPACE_MAX} are taken",
            subject="namespace",
            value=len(namespace),
            limit=NAMESPACE_MAX,
        )
    if not NAMESPACE.fullmatch(namespace):
        raise ConfigurationError(
            f"namespace is {namespace!r}, must be names of letters, digits and _, separated by /",
            subject="namespace",
            value=namespace,
        )


def require_choice(name: str, value: str, allowed: Iterable[str]) -> None:
    """Raise a ConfigurationError that says what there is, and what may be meant, where ``value`` is none of it."""
    if value not in allowed:
        meant = difflib.get_close_matches(value, list(filter(None, allowed)), 1)
        hint = f"; did you mean {meant[0]}?" if meant else ""
        raise ConfigurationError(
            f"{name} is {value!r}, must be one of {', '.join(filter(None, allowed))}{hint}", subject=name, value=value
        )


def misspelt(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """What is to be said of launch arguments that do not exist, and look like some that do: launch ignores them."""
    known = list(known)
    found = ((name, difflib.get_close_matches(name, known, 1, 0.8)) for name in sorted(set(given) - set(known)))
    return [f"there is no argument {name}, did you mean {meant[0]}?" for name, meant in found if meant]


def require_no_simulated_time(given: Mapping[str, str]) -> None:
    """Raise a ConfigurationError where launch arguments ask for the time of /clock, which every node would refuse."""
    if given.get("use_sim_time", "").strip().lower() in ("true", "1", "yes", "on"):
        raise ConfigurationError(
            "use_sim_time is true: the arm is driven by this machine's steady clock, not by /clock; leave it out",
            subject="use_sim_time",
            value=given["use_sim_time"],
        )


@dataclass(frozen=True)
class Options:
    """What a person may choose at bring-up; None or empty: the default of the nodes.

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
        plant_urdf, plant_overlay: URDF and servo-map overlay of the simulated arm, where the nodes are to believe other ones.
        directory: that exists, for the virtual board's port and control socket; by default ``graph`` makes one that only
            this user can enter.  Who runs the graph removes it.
        log_level: of the nodes.
        scene: file like config/scene.yaml: what stands about the arm; enables collision.
        collision: hold motions clear of the arm itself and of the scene.
        srdf: SRDF with pairs of links that may touch; by default that beside the URDF.
        markers: also what RViz shows beside the model.
        one_process: all required nodes in one process, for many arms on one machine.
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
    plant_urdf: str = ""
    plant_overlay: str = ""
    directory: str = ""
    log_level: str = "info"
    scene: str = ""
    collision: bool = False
    srdf: str = ""
    markers: bool = False
    one_process: bool = False
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
            require_choice(name, getattr(self, name), allowed)
        require_namespace(self.namespace)
        for name, path in ((name, getattr(self, name)) for name in FILES):
            if path and not Path(path).is_file():
                raise ConfigurationError(f"{name}: no such file: {path}", subject=name, value=path)
        if self.params_file:  # ROS parses it without bounds, in each node
            read_yaml(self.params_file, "params_file", ConfigurationError)
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
        error = f"plant_error is {self.plant_error or 0:g}"
        joints = f"arm {self.arm or Path(self.urdf).stem} has torque-controlled joints"
        for name, wrong, message in (
            ("plant_error", not sim, f"{error}, but hardware is {self.hardware}: only a simulated arm has errors to choose"),
            ("servo", not sim, f"servo is {self.servo}, but hardware is {self.hardware}: only simulated ones can be chosen"),
            ("servo", self.servo_overlay, f"servo is {self.servo}, but a servo_overlay is given: it says what they are like"),
            ("port", sim, f"port {self.port} is given, but hardware is sim"),
            ("board", not sim, f"board is {self.board}, but hardware is {self.hardware}: a real board is what it is"),
            ("arms", not (self.arm or self.urdf), f"arms is {self.arms}: give a urdf or an arm of that file, too"),
            (
                "arms",
                self.entry and not torque,
                f"{self.arms} has {self.arm or self.urdf} with servos: leave it out, give a urdf",
            ),
            ("srdf", not (self.scene or self.collision), f"srdf {self.srdf} is given, but neither a scene nor collision"),
            ("cameras", not self.pick, f"cameras {self.cameras} is given, but nothing is to be picked: add pick"),
            ("urdf", self.arm, f"give either the arm {self.arm} or a urdf, not both"),
            ("hardware", torque, f"{joints}: there is no driver for such hardware, it can only be simulated"),
            ("board", torque, f"board is {self.board}, but {joints}, no board"),
            *((name, torque, f"{name} is given, but {joints}, no servos") for name in FOR_SERVOS),
        ):
            value = getattr(self, name)
            if wrong and value != getattr(Options, name):
                raise ConfigurationError(message, subject=name, value=value)
        if not sim and not self.port:
            raise ConfigurationError("hardware is serial, but no port is given (for example /dev/ttyACM0)", subject="port")

    @property
    def torque_controlled(self) -> bool:
        """Whether the joints take efforts: no servos, no board."""
        return self.entry is not None and self.entry.control == "torque"

    @cached_property
    def entry(self) -> arms.Arm | None:
        """The arm, where a file of named arms has it."""
        named = self.arm or (self.arms and self.urdf)
        return arms.load(self.arm, self.arms or None, "" if self.arm else self.urdf) if named else None

    @property
    def urdf_path(self) -> str:
        """The URDF of the arm, whatever names it."""
        return self.urdf or str(arms.urdf_of(self.arm or arms.DEFAULT, self.arms))

    @property
    def frame_prefix(self) -> str:
        """What stands before the names of this arm's frames."""
        namespace = self.namespace.strip("/")
        return f"{namespace}/" if namespace else ""


@dataclass(frozen=True)
class Graph:
    """Everything that runs; ``notes`` are for the person who starts it."""

    nodes: tuple[NodeSpec, ...]
    board: BoardSpec | None
    port: str
    control: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    one_process: bool = False
    notes: tuple[str, ...] = ()
    commands: tuple[CommandSpec, ...] = ()

    @property
    def processes(self) -> tuple[NodeSpec | TogetherSpec | CommandSpec, ...]:
        """The nodes as they are started, and the commands beside them."""
        if not self.one_process:
            return (*self.nodes, *self.commands)
        required = tuple(spec for spec in self.nodes if spec.required)
        return (TogetherSpec(required), *(spec for spec in self.nodes if not spec.required), *self.commands)


def graph(options: Options) -> Graph:
    """The processes for these options.

    Raises:
        DescriptionError, ConfigurationError: a URDF or servo map that is wrong, said once before anything starts.
        MissingDependencyError, BuildError: board ``avr``, whose firmware is compiled here where that is due.
    """
    made = _torque_graph(options) if options.torque_controlled else _servo_graph(options)
    view = (CommandSpec("view", options.namespace),) if options.view else ()
    cameras = ("--cameras", options.cameras) if options.cameras else ()
    pick = (CommandSpec("pick", options.namespace, ("--listen", *cameras)),) if options.pick else ()
    return replace(made, commands=(*view, *pick))


def _servo_graph(options: Options) -> Graph:
    """Servos behind a board, or its simulation."""
    board, port, control, overlay, simulated = None, options.port, "", options.servo_overlay, options.hardware == "sim"
    arm = servo_arm.read_arm(options.urdf_path)
    notes, assumed = arm.notes, servo_arm.assumes(arm, options.servos)
    if simulated:
        overlay = overlay or servo_arm.overlay_of(arm, options.servos, options.servo)
    if assumed and not simulated:
        raise ConfigurationError(
            f"{arm.name} on hardware needs its servo map: give --servos (README, Your own arm); only simulated ones are assumed",
            subject="servos",
        )
    arm, servos = servo_arm.load(options.urdf_path, options.servos, overlay)
    collision = _collision(options, arm)
    if assumed:
        notes = (*notes, _assumption(arm, servos))
    if options.board == "avr":  # compiled now, so that what is missing is said before anything starts; the board finds it done
        from picker_dynamics.board.firmware import toolchain

        toolchain.build(servos, arm)
        toolchain.library("sim")
    if simulated:  # after all that may be wrong, so that nothing is left behind
        directory = Path(options.directory or _directory(options.namespace))
        port, control = str(directory / "tty"), str(directory / "control")
        board = BoardSpec(_board_arguments(options, port, control, options.plant_overlay or overlay))
    shared = _given(urdf=options.urdf, servos=options.servos, servo_overlay=overlay)
    common = _common(options)
    nodes = (
        NodeSpec(
            "trajectory_controller",
            shared | _given(rate_hz=options.rate_hz, tip_speed_limit=options.tip_speed_limit) | collision,
            **common,
        ),
        NodeSpec(
            "dynamics", shared | _given(compensation=options.compensation, **{"payload.mass": options.payload_mass}), **common
        ),
        NodeSpec(
            "hardware",
            shared | _given(port=port, on_shutdown=options.on_shutdown) | {"autostart": True, "at_rest_pose": simulated},
            **common,
        ),
        *_markers(options, shared, common),
    )
    return Graph(nodes, board, port, control, local_only(os.environ), options.one_process, notes)


def _assumption(arm: ArmDescription, servos: ServoMap) -> str:
    """What is to be said of servos that nobody named."""
    joints = ", ".join(f"{servo.joint} {servo.stall_torque:.3g} {unit}" for servo, unit in zip(servos.servos, arm.effort_units))
    return (
        f"no servo map of {arm.name} (--servos): servos that fit are assumed, with twice the largest gravity torque and the "
        f"URDF's velocities, or what leaves them damped; stall: {joints}"
    )


def view_graph(options: Options) -> Graph:
    """Only what shows an arm whose joints somebody else moves, sliders for example.

    Raises:
        DescriptionError, ConfigurationError: a URDF or servo map that is wrong.
    """
    if options.torque_controlled:
        which: dict[str, object] = {"control": "torque", **_named(options)}
    else:
        which = _given(urdf=options.urdf, servos=options.servos, servo_overlay=options.servo_overlay)
        servo_arm.load(options.urdf_path, options.servos, options.servo_overlay)
    return Graph(_markers(options, which, _common(options)), None, "", "", local_only(os.environ))


def _torque_graph(options: Options) -> Graph:
    """Torque-controlled joints, simulated: other nodes in the places of ``dynamics`` and ``hardware``, and no board."""
    arm, which, common = options.entry, _named(options), _common(options)
    speed = arm.tip_speed if options.tip_speed_limit is None else options.tip_speed_limit
    nodes = (
        NodeSpec(
            "trajectory_controller",
            {"control": "torque", **which, "tip_speed_limit": speed}
            | _given(rate_hz=options.rate_hz)
            | _collision(options, arm.description),
            **common,
        ),
        NodeSpec("torque_control", which | _given(**{"payload.mass": options.payload_mass}), **common, node_name="dynamics"),
        NodeSpec(
            "torque_arm_sim", which | {"plant_error": options.plant_error, "seed": options.seed}, **common, node_name="hardware"
        ),
        *_markers(options, {"control": "torque", **which}, common),
    )
    return Graph(nodes, None, "", "", local_only(os.environ), options.one_process, arm.description.notes)


def _collision(options: Options, arm: ArmDescription) -> dict[str, object]:
    """What the controller is told of collisions; files are looked at here too, so that what is wrong with them is said once."""
    if options.scene:
        read_scene(options.scene, arm.root)
    if options.srdf:
        read_srdf(options.srdf, arm)
    if options.cameras:
        read_cameras(options.cameras, arm)
    return _given(**{"collision.scene": options.scene, "collision.srdf": options.srdf}) | (
        {"collision.enabled": True} if options.collision else {}
    )


def _named(options: Options) -> dict[str, object]:
    """The parameters that name a torque-controlled arm."""
    return _given(arm=options.arm, urdf=options.urdf, arms=options.arms)


def _markers(options: Options, which_arm: dict[str, object], common: dict[str, str]) -> tuple[NodeSpec, ...]:
    """The node that shows things, where somebody wants to see them; it moves nothing, so nothing ends with it."""
    return (NodeSpec("markers", which_arm, **common, required=False),) if options.markers else ()


def _common(options: Options) -> dict[str, str]:
    return {
        "namespace": options.namespace,
        "log_level": options.log_level,
        "params_file": options.params_file or str(resource("config/picker.yaml")),
    }


def tool_prefix(tool: str, configurations: Mapping[str, str]) -> str:
    """What stands before the command of a tool that launch starts, so that it ends with launch; then what a person asks for."""
    asked = configurations.get("launch-prefix", "") if re.match(configurations.get("launch-prefix-filter", ""), tool) else ""
    return f"{lifeline.command_prefix()} {asked}".strip()


def remove_leftovers(made: Graph) -> None:
    """Remove what a virtual board that was killed has left behind, and its folder if nothing else is in it."""
    if made.board is None:
        return
    for path in (made.port, made.control, f"{made.port}.lock"):
        Path(path).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # gone, or somebody else's files are in it
        Path(made.port).parent.rmdir()


def _directory(namespace: str) -> Path:
    """A new folder for the simulated board of one namespace, which nobody can foresee and no other user can enter."""
    arm = namespace.strip("/").replace("/", "_")[:40] or "arm"
    return Path(tempfile.mkdtemp(prefix=f"picker_{arm}_"))


def _given(**values) -> dict[str, object]:
    """Only what the person chose: the rest stays with the parameter file and the nodes' defaults."""
    return {key: value for key, value in values.items() if value not in ("", None)}


def _board_arguments(options: Options, port: str, control: str, overlay: str) -> list[str]:
    arguments = ["--link", port, "--control", control, "--linger"]
    for flag, value in (
        ("--servo-overlay", overlay),
        ("--urdf", options.plant_urdf or options.urdf),
        ("--servos", options.servos),
    ):
        if value:
            arguments += [flag, value]
    if options.board == "virtual":
        arguments += ["--host-timeout", str(SIMULATED_HOST_TIMEOUT_S)]
    else:  # its firmware has its own
        arguments += ["--board", options.board]
    if options.plant_error:
        arguments += ["--plant-error", repr(options.plant_error), "--seed", str(options.seed)]
    return arguments
