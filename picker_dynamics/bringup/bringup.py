"""Graph of processes as data, described once: ``picker up`` and launch/picker.launch.py both read it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import PACKAGE, resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.scene import read_scene
from picker_dynamics.robot.sighting import read_cameras

from .options import Options
from .processes import NodeSpec, PlainSpec, command, ros_is_installed

SIMULATED_HOST_TIMEOUT_S = 2.0
"""Silence of the host after which a simulated board latches HOST_LOST [s]: a real one has 0.25 s, but no computer to share with
its host.  Either comes to rest as soon as it runs out of set-points."""

SIMULATED_BOOT_S = 0.1
"""How long the simulated board's boot loader takes [s]; an Uno's takes 1 s."""

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


Values = dict[str, object]
"""Parameters of a node by name."""


@dataclass(frozen=True)
class Graph:
    """Processes of an arm: its nodes, the simulated board, and commands beside them; ``notes`` are for who starts it."""

    nodes: tuple[NodeSpec, ...]
    board: PlainSpec | None
    port: str
    control: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    commands: tuple[PlainSpec, ...] = ()


def graph(options: Options) -> Graph:
    """The processes for these options.

    Raises:
        DescriptionError, ConfigurationError: a URDF or servo map that is wrong, said once before anything starts.
        MissingDependencyError, BuildError: board ``avr``, whose firmware is compiled here where that is due.
    """
    made = _torque_graph(options) if options.torque_controlled else _servo_graph(options)
    beside = ("--urdf", options.urdf) if options.urdf and not options.torque_controlled else ()  # where its meshes lie
    cameras = ("--cameras", options.cameras) if options.cameras else ()
    view = (command("view", options.namespace, *beside),) if options.view else ()
    pick = (command("pick", options.namespace, "--listen", *cameras),) if options.pick else ()
    missing = () if ros_is_installed() else ("rclpy is not installed: there are no ROS topics, services and actions",)
    return replace(made, commands=(*view, *pick), notes=(*made.notes, *missing))


def _servo_graph(options: Options) -> Graph:
    """Servos behind a board, or its simulation."""
    board, port, control, overlay, simulated = None, options.port, "", options.servo_overlay, options.hardware == "sim"
    arm = servo_arm.read_arm(options.urdf_path)
    notes, assumed = arm.notes, servo_arm.assumes(arm, options.servos)
    if simulated:
        overlay = overlay or servo_arm.overlay_of(arm, options.servos, options.servo)
    elif assumed:
        raise ConfigurationError(
            f"{arm.name} on hardware needs its servo map: give --servos (README, Your own arm); only simulated ones are assumed",
            subject="servos",
        )
    arm, servos = servo_arm.load(options.urdf_path, options.servos, overlay)
    if assumed:
        stalls = ", ".join(f"{one.joint} {one.stall_torque:.3g} {unit}" for one, unit in zip(servos.servos, arm.effort_units))
        notes = (*notes, f"no servo map of {arm.name} (--servos): servos that fit are assumed; stall: {stalls}")
    collision = _collision(options, arm)
    if options.board == "avr":  # compiled now, so that what is missing is said before anything starts; the board finds it done
        from picker_dynamics.board.firmware import toolchain

        toolchain.build(servos, arm)
        toolchain.library("sim")
    if simulated:  # after all that may be wrong, so that nothing is left behind
        name = options.namespace.strip("/").replace("/", "_")[:40] or "arm"
        directory = Path(options.directory or tempfile.mkdtemp(prefix=f"picker_{name}_"))
        port, control = str(directory / "tty"), str(directory / "control")
        arguments = _board_arguments(options, port, control, overlay)
        board = PlainSpec("virtual_board", f"{PACKAGE}.sim.board", arguments, required=True)
    which = _given(urdf=options.urdf, servos=options.servos, servo_overlay=overlay)
    hardware = _given(port=port, on_shutdown=options.on_shutdown) | {"autostart": True, "at_rest_pose": simulated}
    nodes = _nodes(options, which, _given(tip_speed_limit=options.tip_speed_limit) | collision, hardware, which)
    return Graph(nodes, board, port, control, local_only(os.environ), notes)


def _torque_graph(options: Options) -> Graph:
    """Torque-controlled joints, simulated, without a board."""
    arm, which = options.entry, _given(arm=options.arm, urdf=options.urdf, arms=options.arms)
    assert arm is not None
    tip_speed = arm.tip_speed if options.tip_speed_limit is None else options.tip_speed_limit
    torque = {"control": "torque"}
    control = torque | {"tip_speed_limit": tip_speed} | _collision(options, arm.description)
    simulated = {"plant_error": options.plant_error, "seed": options.seed}
    nodes = _nodes(options, which, control, simulated, torque | which)
    return Graph(nodes, None, "", "", local_only(os.environ), arm.description.notes)


def view_graph(options: Options) -> Graph:
    """Graph that only shows an arm whose joints somebody else moves, sliders for example.

    Raises:
        DescriptionError, ConfigurationError: a URDF or servo map that is wrong.
    """
    if options.torque_controlled:
        shown = {"control": "torque"} | _given(arm=options.arm, urdf=options.urdf, arms=options.arms)
    else:
        shown = _given(urdf=options.urdf, servos=options.servos, servo_overlay=options.servo_overlay)
        servo_arm.load(options.urdf_path, options.servos, options.servo_overlay)
    return Graph((_node(options, "markers", {"markers": shown}, False),), None, "", "", local_only(os.environ))


def _nodes(options: Options, which: Values, control: Values, hardware: Values, shown: Values) -> tuple[NodeSpec, ...]:
    """Process of the arm that ``which`` names, with further parameters of two of its parts, and what shows it on request."""
    parameters = {
        "trajectory_controller": which | control | _given(rate_hz=options.rate_hz),
        "dynamics": which | _given(compensation=options.compensation, **{"payload.mass": options.payload_mass}),
        "hardware": which | hardware,
    }
    markers = (_node(options, "markers", {"markers": shown}, False),) if options.markers else ()
    return (_node(options, "arm", parameters), *markers)


def _node(options: Options, executable: str, parameters: dict[str, Values], required: bool = True) -> NodeSpec:
    file = options.params_file or str(resource("config/picker.yaml"))
    return NodeSpec(executable, parameters, options.namespace, file, options.log_level, required)


def _collision(options: Options, arm: ArmDescription) -> Values:
    """Parameters about collisions; files are looked at here too, so that what is wrong with them is said once."""
    if options.scene:
        read_scene(options.scene, arm.root)
    if options.cameras:
        read_cameras(options.cameras, arm)
    given = {"collision.scene": options.scene, "collision.enabled": options.collision or None}
    return _given(**given)


def remove_leftovers(made: Graph) -> None:
    """Remove what a virtual board that was killed has left behind, and its folder if nothing else is in it."""
    if made.board is None:
        return
    for path in (made.port, made.control, f"{made.port}.lock"):
        Path(path).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # gone, or somebody else's files are in it
        Path(made.port).parent.rmdir()


def _given(**values) -> Values:
    """Only what the person chose: the rest stays with the parameter file and the nodes' defaults."""
    return {key: value for key, value in values.items() if value not in ("", None)}


def _board_arguments(options: Options, port: str, control: str, overlay: str) -> list[str]:
    arguments = ["--link", port, "--control", control, "--linger", "--boot-silence", str(SIMULATED_BOOT_S)]
    files = {"--servo-overlay": overlay, "--urdf": options.urdf, "--servos": options.servos}
    arguments += [word for flag, path in files.items() if path for word in (flag, path)]
    if options.board == "virtual":
        arguments += ["--host-timeout", str(SIMULATED_HOST_TIMEOUT_S)]
    else:  # its firmware has its own
        arguments += ["--board", options.board]
    if options.plant_error:
        arguments += ["--plant-error", repr(options.plant_error), "--seed", str(options.seed)]
    return arguments
