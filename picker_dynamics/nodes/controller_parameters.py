"""Parameters of the trajectory controller that can change as it runs, by joint_trajectory_controller's names; the gripper's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node

from picker_dynamics.errors import ConfigurationError, PickerError
from picker_dynamics.execution.collision import LARGEST_MARGIN_M, MARGIN_M
from picker_dynamics.execution.floor import OFF
from picker_dynamics.execution.gripping import GripperSettings, settings_problem
from picker_dynamics.execution.tolerances import Tolerances
from picker_dynamics.robot.description import ArmDescription

from .runtime import declare

AUTO = "auto"
APPROACHES = AUTO, "off"
"""Whether motions may end by an approach."""

FLOOR_M = 10.0
"""How far the floor may be from base_link's origin [m]."""


class ControllerParameters:
    """Declares them, keeps their values, and refuses what does not fit; they apply from the next goal on.

    Args:
        changed: called after a change, with the names; raises a PickerError where it cannot be: the values are as before then.
        floor_z: height of the floor where nobody says another [m].
        shipped: tolerances where nobody says others.
    """

    def __init__(self, node, arm: ArmDescription, changed: Callable[[set[str]], None], floor_z: float, shipped: Tolerances):
        self.arm, self.changed = arm, changed
        self.values = {}

        def add(name: str, default, description: str, low: float | None = None, high: float | None = None) -> None:
            self.values[name] = declare(node, name, default, description, low=low, high=high)

        add("tip_speed_limit", 0.25, "largest speed of the tool [m/s]", 0.01, 2.0)
        add(
            "floor_z",
            floor_z,
            "height in base_link below which no motion takes the tool or a joint; -inf: no floor, "
            f"the default of arms that do not stand on it; else {-FLOOR_M:g} to {FLOOR_M:g} [m]",
        )
        add(
            "collision.margin",
            MARGIN_M,
            "distance that is kept where collision is enabled, beside what the tip is uncertain by [m]",
            0.0,
            LARGEST_MARGIN_M,
        )
        add("stretch", True, "slow a goal that is too fast instead of refusing it")
        add(
            "approach",
            AUTO,
            "auto: where the side of the gears' friction leaves the tip uncertain, a motion ends by lowering the arm to its "
            "goal, at most 0.4 s longer; off: it never does",
        )
        add("speed_scaling", 1.0, "share of their speed with which goals are executed; 0 pauses", 0.0, 1.0)
        add("allow_partial_joints_goal", False, "take goals that name only some joints; the others hold")
        add(
            "constraints.goal_time",
            3.0,
            "how long after its end a goal may take to come within its goal tolerances; 0: as long as it takes [s]",
            0.0,
            600.0,
        )
        add(
            "constraints.stopped_velocity_tolerance",
            0.01,
            "largest speed of a joint that has arrived [rad/s, m/s]; 0: any",
            0.0,
            100.0,
        )
        for joint, unit, path, goal in zip(
            arm.joint_names, arm.position_units, shipped.path.position.tolist(), shipped.goal.position.tolist()
        ):
            add(f"constraints.{joint}.trajectory", path, f"path tolerance of {joint} [{unit}]; 0: none", 0.0, 100.0)
            add(f"constraints.{joint}.goal", round(goal, 4), f"goal tolerance of {joint} [{unit}]; 0: none", 0.0, 100.0)
        for name, value in self.values.items():
            if problem := _problem(name, value):
                raise ConfigurationError(problem, subject=name, value=value)
        node.add_on_set_parameters_callback(self.on_change)

    def __getitem__(self, name: str):
        return self.values[name]

    def tolerances(self) -> Tolerances:
        """Tolerances of a goal that names none."""
        path, goal = (
            [self.values[f"constraints.{joint}.{what}"] for joint in self.arm.joint_names] for what in ("trajectory", "goal")
        )
        return Tolerances.of(path, goal, self["constraints.stopped_velocity_tolerance"], self["constraints.goal_time"])

    def on_change(self, parameters) -> SetParametersResult:
        """Take changed parameters, all of them or none."""
        wanted = {one.name: one.value for one in parameters if one.name in self.values}
        for name, value in wanted.items():
            if problem := _problem(name, value):
                return SetParametersResult(successful=False, reason=problem)
        before = dict(self.values)
        self.values.update(wanted)
        try:
            if wanted:
                self.changed(set(wanted))
        except PickerError as error:
            self.values = before
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def _problem(name: str, value: object) -> str:
    """What is wrong with a value, beyond the ranges: those of ROS have no room for -inf beside them."""
    if name == "approach" and value not in APPROACHES:
        return f"approach is {value!r}, must be one of {', '.join(APPROACHES)}"
    if not isinstance(value, float) or (name, value) == ("floor_z", OFF):
        return ""
    if not math.isfinite(value):
        return f"{name} is {value}, not a finite number"
    if name == "floor_z" and abs(value) > FLOOR_M:
        return f"floor_z is {value:g} m, must be {-FLOOR_M:g} to {FLOOR_M:g} m, or -inf: no floor"
    return ""


def declare_gripper(node: Node, arm: ArmDescription, gripper: int | None, grips: dict[str, float]) -> GripperSettings | None:
    """The gripper's settings as parameters; None for an arm without one.

    Args:
        gripper: index of the joint that grips, unless the parameter names another; None: none.
        grips: with which torque joints press at the most [N·m], where the servo map says so.

    Raises:
        ConfigurationError: settings that do not fit the arm.
    """
    name = "" if gripper is None else arm.joint_names[gripper]
    joint = declare(node, "gripper.joint", name, "joint that grips; empty: none", read_only=True)
    fits = GripperSettings.of(arm, arm.joint_names.index(joint)) if joint in arm.joint_names else GripperSettings(joint)
    plain = replace(fits, allow_stalling=False)

    def add(name: str, description: str, low: float | None = None, high: float | None = None):
        return declare(node, f"gripper.{name}", getattr(plain, name), description, low=low, high=high, read_only=True)

    settings = replace(
        plain,
        max_velocity=add("max_velocity", "where a command names none [rad/s or m/s]", 0.001, 50.0),
        goal_tolerance=add("goal_tolerance", "within which it has reached its goal [rad or m]", 0.0, 1.0),
        stall_velocity_threshold=add("stall_velocity_threshold", "slower than this it stands [rad/s or m/s]", 0.0, 10.0),
        stall_timeout=add("stall_timeout", "standing so long away from its goal it has stalled [s]", 0.0, 60.0),
        allow_stalling=add("allow_stalling", "stalled, it has gripped something: a success"),
        torque=grips.get(plain.joint),
    )
    if plain.joint and (problem := settings_problem(settings, arm)):
        raise ConfigurationError(problem, subject="gripper.joint")
    return settings if plain.joint else None
