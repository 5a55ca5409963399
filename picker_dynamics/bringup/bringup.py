"""Graph of processes as data, described once: ``picker up`` and launch/picker.launch.py both read it."""

from __future__ import annotations

import contextlib
import json
import resource as system
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import PACKAGE, resource
from picker_dynamics.robot import description, servo_arm
from picker_dynamics.robot.scene import read_scene
from picker_dynamics.robot.sighting import read_cameras

from .options import Options

SIMULATED_HOST_TIMEOUT_S = 2.0
"""Silence of the host after which a simulated board latches HOST_LOST [s]: a real one has 0.25 s, but no computer to share with
its host.  Either comes to rest as soon as it runs out of set-points."""

SIMULATED_BOOT_S = 0.1
"""How long the simulated board's boot loader takes [s]; an Uno's takes 1 s."""

COMMAND_WAITS_S = 60.0
"""How long a graph may take to come up until a command beside it gives up [s]."""

MEMORY_MB, ROS_MB = 600, 400
"""Address space without which the process of an arm does not come up, and what nodes take beside it [MB]."""

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
    """Environment variables to add so that ROS stays on this machine: none where the user has chosen others."""
    return {} if any(environment.get(name) for name in REACH) else dict(LOCAL_ONLY)


TIP = "the tip is {}"
"""Note on the frame of an arm that goes to a place."""

Values = dict[str, object]
"""Parameters of a node by name."""


@dataclass(frozen=True)
class Process:
    """A process of a graph, ``python -m MODULE ARGUMENTS``; the arm goes on where one that is not ``required`` ends by itself.

    Of a node ``name`` is its executable, and the arguments begin with ``--ros-args``.
    """

    name: str
    module: str
    arguments: list[str]
    required: bool = True


@dataclass(frozen=True)
class Graph:
    """Processes of an arm: its nodes, the simulated board, and commands beside them; ``notes`` are for who starts it."""

    nodes: tuple[Process, ...]
    board: Process | None = None
    port: str = ""
    control: str = ""
    notes: tuple[str, ...] = ()
    commands: tuple[Process, ...] = ()


def graph(options: Options) -> Graph:
    """The processes for these options.

    Raises:
        DescriptionError, ConfigurationError: of URDF, servo map, scene, cameras or limit of memory, said once before
            anything starts.
        MissingDependencyError, BuildError: board ``avr``, whose firmware is compiled here where that is due.
    """
    limit, needed = system.getrlimit(system.RLIMIT_AS)[0], MEMORY_MB + (ROS_MB if find_spec("rclpy") else 0)
    if 0 <= limit >> 20 < needed:
        text = f"a process may take {limit >> 20} MB of memory here (ulimit -v); an arm needs {needed}"
        raise ConfigurationError(text, "ulimit -v", limit >> 20, needed)
    if options.scene:
        read_scene(options.scene, description.load(options.urdf_path).root)
    if options.cameras:
        read_cameras(options.cameras, description.load(options.urdf_path))
    which, entry, tip_speed = _which(options), options.entry, options.tip_speed_limit
    board, port, control = None, options.port, ""
    hardware: Values = {}
    notes: tuple[str, ...] = ()
    if entry is not None and options.torque_controlled:
        notes = (*entry.description.notes, TIP.format(entry.description.tool))
        tip_speed = entry.tip_speed if tip_speed is None else tip_speed
        hardware = {"plant_error": options.plant_error, "seed": options.seed}
    else:
        overlay, notes = _servos(options)
        which |= _given(servo_overlay=overlay)
        if options.hardware == "sim":
            board, port, control = _board(options, overlay)
        hardware = _given(port=port, on_shutdown=options.on_shutdown)
        hardware |= {"autostart": True, "at_rest_pose": board is not None}
    collision = {"scene": options.scene, "enabled": options.collision or None}
    motion = _given(
        rate_hz=options.rate_hz, tip_speed_limit=tip_speed, **{f"collision.{name}": value for name, value in collision.items()}
    )
    law: Values = {"control": "torque"} if options.torque_controlled else {}
    torques = _given(compensation=options.compensation, **{"payload.mass": options.payload_mass})
    parts = {"trajectory_controller": which | law | motion, "dynamics": which | torques, "hardware": which | hardware}
    nodes = [_node(options, "arm", parts)]
    if options.markers:
        nodes.append(_node(options, "markers", {"markers": which | law}, False))
    if find_spec("rclpy") is None:
        notes = (*notes, "rclpy is not installed: there are no ROS topics, services and actions")
    beside = ["--urdf", options.urdf] if options.urdf and not options.torque_controlled else []  # where its meshes lie
    cameras = ["--cameras", options.cameras] if options.cameras else []
    commands = [_command("view", options, *beside)] if options.view else []
    commands += [_command("pick", options, "--listen", *cameras)] if options.pick else []
    return Graph(tuple(nodes), board, port, control, notes, tuple(commands))


def view_graph(options: Options) -> Graph:
    """Graph that only shows an arm whose joints somebody else moves, sliders for example."""
    law: Values = {"control": "torque"} if options.torque_controlled else {}
    which = law | _which(options) | _given(servo_overlay=options.servo_overlay)
    return Graph((_node(options, "markers", {"markers": which}, False),))


def remove_leftovers(made: Graph) -> None:
    """Remove what a virtual board that was killed has left behind, and its folder if nothing else is in it."""
    if made.board is None:
        return
    for path in (made.port, made.control, f"{made.port}.lock"):
        Path(path).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # gone, or somebody else's files are in it
        Path(made.port).parent.rmdir()


def _which(options: Options) -> Values:
    """Parameters that say which arm it is."""
    return _given(arm=options.arm, urdf=options.servo_urdf, arms=options.arms, servos=options.servos)


def _given(**values: object) -> Values:
    """Only what the person chose: the rest stays with the parameter file and the nodes' defaults."""
    return {key: value for key, value in values.items() if value not in ("", None)}


def _servos(options: Options) -> tuple[str, tuple[str, ...]]:
    """The overlay of the servo map, and what is to be said of the servos."""
    overlay, arm = options.servo_overlay, servo_arm.read_arm(options.urdf_path)
    notes, assumed = (*arm.notes, TIP.format(arm.tool)), servo_arm.assumes(arm, options.servos)
    if options.hardware == "sim":
        overlay = overlay or servo_arm.overlay_of(arm, options.servos, options.servo)
    elif assumed:
        raise ConfigurationError(
            f"{arm.name} on hardware needs its servo map: give --servos (docs/your_arm.md); only simulated ones are assumed",
            "servos",
        )
    arm, servos = servo_arm.load(options.urdf_path, options.servos, overlay)
    if assumed:
        stalls = ", ".join(f"{one.joint} {one.stall_torque:.3g} {unit}" for one, unit in zip(servos.servos, arm.effort_units))
        notes = (*notes, f"no servo map of {arm.name} (--servos): servos that fit are assumed; stall: {stalls}")
    if options.board == "avr" and servos.bus:
        raise ConfigurationError(f"the servos of {arm.name} are on a bus: no Uno drives them", subject="board", value="avr")
    if options.board == "avr":  # compiled now, so that what is missing is said before anything starts; the board finds it done
        from picker_dynamics.board.firmware import toolchain

        toolchain.build(servos, arm)
        toolchain.library("sim")
    return overlay, notes


def _board(options: Options, overlay: str) -> tuple[Process, str, str]:
    """The simulated board, its port, and its control socket."""
    name = options.namespace.strip("/").replace("/", "_")[:40] or "arm"
    directory = Path(options.directory or tempfile.mkdtemp(prefix=f"picker_{name}_"))
    port, control = str(directory / "tty"), str(directory / "control")
    arguments = ["--link", port, "--control", control, "--linger", "--boot-silence", str(SIMULATED_BOOT_S)]
    for flag, path in (("--servo-overlay", overlay), ("--urdf", options.servo_urdf), ("--servos", options.servos)):
        arguments += [flag, path] if path else []
    own = options.board == "avr"  # its firmware has its own timeout
    arguments += ["--board", "avr"] if own else ["--host-timeout", str(SIMULATED_HOST_TIMEOUT_S)]
    arguments += ["--plant-error", repr(options.plant_error), "--seed", str(options.seed)]
    return Process("virtual_board", f"{PACKAGE}.sim.board", arguments), port, control


def _node(options: Options, executable: str, parameters: dict[str, Values], required: bool = True) -> Process:
    """A process with nodes, of the arm without ROS where rclpy is not installed, and the parameters of each by its name."""
    arguments = ["--ros-args", "--params-file", options.params_file or str(resource("config/picker.yaml"))]
    arguments += ["--log-level", options.log_level]
    if options.namespace:
        arguments += ["-r", f"__ns:=/{options.namespace.strip('/')}"]
    for node, values in parameters.items():
        for key, value in values.items():
            arguments += ["-p", f"{node}:{key}:={json.dumps(value)}"]
    alone = executable == "arm" and find_spec("rclpy") is None
    return Process(executable, f"{PACKAGE}.session.process" if alone else f"{PACKAGE}.nodes.{executable}", arguments, required)


def _command(name: str, options: Options, *words: str) -> Process:
    """A ``picker`` command, which waits until the arm is there."""
    named = ("--namespace", options.namespace) if options.namespace else ()
    return Process(name, PACKAGE, [name, *words, "--wait", f"{COMMAND_WAITS_S:g}", *named], required=False)
