"""Parameters of an arm: the settings of its controller, its dynamics and its hardware, with units, ranges and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from picker_dynamics.board.link import BAUD
from picker_dynamics.control.compensation import MODES
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.execution.collision import LARGEST_MARGIN_M, MARGIN_M
from picker_dynamics.execution.goal_tracking import Tolerances
from picker_dynamics.execution.gripping import GripperSettings
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import SERVO_RATE_HZ

from .settings import Setting, Settings, given

CONTROLLER, DYNAMICS, HARDWARE = PARTS = "trajectory_controller", "dynamics", "hardware"

at_start = partial(Setting, fixed=True)
"""Setting that is given at the start and stays."""

FLOOR_M = 10.0
"""How far the floor may be from base_link's origin [m]."""

CONTROL = at_start("control", "servo", "what moves the joints: servo (urdf, servos) or torque (arm)", choices=("servo", "torque"))

SERVO_ARM = (
    at_start("urdf", "", "URDF file of the arm; empty: the picker's"),
    at_start("servos", "", "servo map file; empty: the shipped one, or assumed servos for other arms"),
    at_start(
        "servo_overlay",
        "",
        "file with differences from the servo map (a simulation, a calibration); or typical or ideal: what the map leaves open",
    ),
)

TORQUE_ARM = (
    at_start("arm", "rrp", "name of a torque-controlled arm in config/arms.yaml"),
    at_start("urdf", "", "URDF file of the arm; empty: that of the named one"),
    at_start("arms", "", "file like config/arms.yaml with an entry for the arm (by the name in urdf, if given)"),
)


def controller(arm: ArmDescription, servos: bool, floor_z: float, shipped: Tolerances, bus: bool = False) -> tuple[Setting, ...]:
    """Settings of reference, limits and collisions of ``arm``; names as joint_trajectory_controller has them.

    Args:
        servos: its joints are servos; else they take efforts.
        floor_z: default height of the floor [m].
        shipped: default tolerances.
        bus: its servos are on a bus: they take a set-point at once, and hold it.
    """
    joints = zip(arm.joint_names, arm.position_units, shipped.path[0].tolist(), shipped.goal[0].tolist())
    return (
        at_start(
            "rate_hz",
            100.0,
            "rate of the reference; of torque-controlled arms up to 500 [Hz]",
            50.0 if bus else 10.0,
            SERVO_RATE_HZ if servos else 500.0,
        ),
        at_start("lead_s", 0.0 if bus else 0.06, "time from sending a reference until it holds [s]", 0.0, 0.5),
        at_start(
            "max_deceleration",
            4.0,
            "largest deceleration of cancelled motions, and of changes of speed_scaling [rad/s^2]",
            0.5,
            50.0,
        ),
        at_start(
            "action_monitor_rate",
            20.0,
            "rate of action feedback, controller_state and checks of goal tolerances [Hz]",
            1.0,
            100.0,
        ),
        Setting("tip_speed_limit", 0.25, "largest speed of the tool [m/s]", 0.01, 2.0),
        Setting(
            "floor_z",
            floor_z,
            "lowest height of tool and joints in base_link; -inf: no floor (default of arms that do not stand on it), "
            f"else {-FLOOR_M:g} to {FLOOR_M:g} [m]",
            -FLOOR_M,
            FLOOR_M,
            endless=True,
        ),
        Setting(
            "collision.margin",
            MARGIN_M,
            "distance kept by collision checks, in addition to the tip's uncertainty [m]",
            0.0,
            LARGEST_MARGIN_M,
        ),
        Setting("stretch", True, "slow a goal that is too fast instead of refusing it"),
        Setting(
            "approach",
            "auto",
            "auto: where the backlash side is unknown, a motion ends by lowering the arm to its goal, at most 0.4 s longer; "
            "off: never",
            choices=("auto", "off"),
        ),
        Setting("speed_scaling", 1.0, "speed factor of goals; 0 pauses", 0.0, 1.0),
        Setting("allow_partial_joints_goal", False, "accept goals that name only some joints; the others hold"),
        Setting(
            "constraints.goal_time",
            3.0,
            "how long after its end, as the board plays it, a goal may take to come within its goal tolerances; 0: as long as it "
            "takes [s]",
            0.0,
            600.0,
        ),
        Setting(
            "constraints.stopped_velocity_tolerance",
            0.01,
            "largest speed of a joint that has arrived [rad/s, m/s]; 0: any",
            0.0,
            100.0,
        ),
        *(
            setting
            for joint, unit, path, goal in joints
            for setting in (
                Setting(f"constraints.{joint}.trajectory", path, f"path tolerance of {joint} [{unit}]; 0: none", 0.0, 100.0),
                Setting(f"constraints.{joint}.goal", round(goal, 4), f"goal tolerance of {joint} [{unit}]; 0: none", 0.0, 100.0),
            )
        ),
        at_start(
            "collision.enabled",
            False,
            "hold motions clear of the arm itself, of the floor (by its shapes, not by the tool and the joints alone) and of the "
            "scene; needs coal, some 30 MB",
        ),
        at_start("collision.scene", "", "scene file like config/scene.yaml; enables collision"),
    )


def gripper_joint(name: str) -> Setting:
    return at_start("gripper.joint", name, "joint that grips; empty: none")


def gripper(fits: GripperSettings) -> tuple[Setting, ...]:
    """Settings of the gripper's joint, as ``fits`` has them by default."""
    return (
        at_start("gripper.max_velocity", fits.max_velocity, "speed of commands that name none [rad/s or m/s]", 0.001, 50.0),
        at_start("gripper.goal_tolerance", fits.goal_tolerance, "goal tolerance [rad or m]", 0.0, 1.0),
        at_start(
            "gripper.stall_velocity_threshold",
            fits.stall_velocity_threshold,
            "speed below which it is at rest [rad/s or m/s]",
            0.0,
            10.0,
        ),
        at_start(
            "gripper.stall_timeout",
            fits.stall_timeout,
            "time at rest away from its goal after which it has stalled [s]",
            0.0,
            60.0,
        ),
        at_start("gripper.allow_stalling", False, "whether a stall, with something gripped, is a success"),
    )


PAYLOAD = (
    Setting("payload.mass", 0.0, "payload at the tool, in addition to the URDF's masses [kg]", 0.0, 5.0),
    Setting("payload.com", [0.0, 0.0, 0.0], "centre of mass of the payload in the tool frame [m]"),
    at_start("payload.transition_s", 0.5, "shortest duration of a change of payload [s]", 0.1, 10.0),
)

SERVO_DYNAMICS = (
    Setting("compensation", "full", "none, gravity, or full (computed torque)", choices=MODES),
    at_start("fade_s", 0.5, "shortest duration of the fade after activation and mode changes [s]", 0.1, 10.0),
)

BUS_DYNAMICS = (
    *SERVO_DYNAMICS,
    Setting("integral", True, "at rest: bring the measured joints slowly to their reference, as far as wrong figures explain it"),
    Setting("contact_stop", True, "in motion: stop where joints meet more than wrong figures explain, and hold there"),
)


def bandwidth(default: float) -> Setting:
    return at_start("bandwidth", default, "bandwidth of the computed torque: Kp = w^2, Kd = 2 w [rad/s]", 0.1, 500.0)


SERVO_BOARD = (
    at_start("port", "/dev/ttyACM0", "serial port of the board, or the bus"),
    at_start("baud", BAUD, "speed of the port [bit/s]", 9600, 2_000_000),
    at_start("state_rate_hz", 50.0, "rate of joint_states [Hz]", 1.0, 200.0),
    Setting(
        "on_shutdown", "hold", "what the arm does when the node ends: hold, park or relax", choices=("hold", "park", "relax")
    ),
    at_start("autostart", False, "configure and activate by itself"),
    at_start(
        "at_rest_pose",
        False,
        "the arm stands at its rest pose: outputs that are off may be switched on without asking (simulation only)",
    ),
    at_start("state_source", "modelled", "source of joint_states: modelled (servos give no feedback)", choices=("modelled",)),
    at_start("ambient_c", 25.0, "temperature around the servos [deg C]", -20.0, 60.0),
    Setting("temperature_limit_c", 75.0, "temperature that no servo should reach (estimated) [deg C]", 30.0, 150.0),
    Setting("on_overheat", "warn", "action at that limit: warn, or stop (latches and holds)", choices=("warn", "stop")),
)

SERVO_BUS = tuple(
    replace(one, default=1_000_000) if one.name == "baud" else one
    for one in SERVO_BOARD
    if one.name not in ("state_source", "ambient_c", "temperature_limit_c", "on_overheat")  # the servos measure, and watch it
)

SIMULATED_TORQUE_ARM = (
    at_start("measure_rate_hz", 250.0, "rate of joint_states [Hz]", 50.0, 500.0),
    at_start("plant_error", 0.0, "bound of the relative errors of the simulated arm's masses", 0.0, 0.5),
    at_start("seed", 0, "of those errors", 0, 2**31 - 1),
    Setting("attached_kg", 0.0, "load on the simulated tool, unknown to the controller [kg]", 0.0, 5.0),
)


def settings(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Settings]:
    """Settings of each part; what ``values`` do not have is the default."""
    return {part: Settings(part, given(values.get(part, {}))) for part in PARTS}


def load_arm(settings: Settings) -> Known:
    """Declare ``control`` and which arm it is, and read it.

    Raises:
        DescriptionError, ConfigurationError: a file that is missing or wrong, no such arm, or joints of another kind.
    """
    settings.declare(CONTROL)
    if settings["control"] == "servo":
        settings.declare(*SERVO_ARM)
        return Known(*servo_arm.load(settings["urdf"], settings["servos"], settings["servo_overlay"]))
    settings.declare(*TORQUE_ARM)
    urdf = settings["urdf"]
    arm = arms.load("" if urdf else settings["arm"], settings["arms"] or None, urdf)
    if arm.control != "torque":
        text = f"arm {arm.name} has {arm.control} joints, control is torque: they would have to take efforts"
        raise ConfigurationError(text, subject="arm", value=arm.name)
    return Known(arm.description, torque=arm)
