"""``picker move|home|park|jog|stop|reset|enable|relax|payload|status``: a person at a bench, talking to a running graph."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from picker_dynamics.bringup.bringup import require_namespace
from picker_dynamics.errors import ConfigurationError, InputError, JointNamesError
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, description, servo_map
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematics import PickerKinematics

SHORTEST_S = 0.8
"""A move asks for this duration; the controller slows it to what tip speed and torque allow."""

LATEST_S = 0.3
"""How long ``status`` listens, so that the last of several latched messages is the one it tells [s]."""


class Poses(NamedTuple):
    """Poses with a name, (n,) each [rad or m]; rest is None for joints that know where they are."""

    home: np.ndarray
    rest: np.ndarray | None


def load_arm(options, running: str = "") -> tuple[ArmDescription, Poses]:
    """The arm that the options name, or else the one that runs, with its home and rest pose.

    Args:
        running: name of the arm that the running graph has.

    Raises:
        ConfigurationError: the options name one arm, and another runs.
    """
    if options.arm and running not in ("", options.arm):
        raise ConfigurationError(f"the running graph has the arm {running}, not {options.arm}", subject="arm", value=options.arm)
    name = options.arm or ("" if options.urdf or running not in arms.names() else running)
    if name and arms.load(name).control == "torque":
        arm = arms.load(name)
        return arm.description, Poses(arm.home, None)
    arm = description.load(options.urdf or resource("urdf/picker.urdf"))
    servos = servo_map.load(options.servos or resource("config/servos.yaml"), arm.joint_names)
    return arm, Poses(servos.home, servos.rest)


def target_of(options, arm, held: np.ndarray) -> np.ndarray:
    """Joint positions (n,) [rad or m] that ``picker move`` asks for.

    Raises:
        InputError: neither or both of ``--tip`` and ``--joints``.
        UnreachableError: no configuration reaches the tip position.
    """
    if bool(options.tip) == bool(options.joints):
        raise InputError("give either --tip X Y Z or --joints NAME=VALUE ...")
    if options.tip:
        if arm.name in arms.names() and arm.name != arms.DEFAULT:
            raise InputError(
                f"--tip is for the picker; move the {arm.name} with --joints, for example --joints {arm.joint_names[0]}=10",
                subject="tip",
            )
        kinematics = PickerKinematics(arm)
        if options.pitch_deg is not None:
            pitch = math.radians(options.pitch_deg)
        else:
            pitch = kinematics.reachable_pitch(options.tip, preferred=0.0, near=held)
        return kinematics.inverse(options.tip, pitch, near=held)
    target = held.copy()
    for assignment in options.joints:
        name, _, value = assignment.partition("=")
        target[_index(arm, name)] = _amount(arm, name, value)
    return target


def _index(arm, name: str) -> int:
    if name not in arm.joint_names:
        raise JointNamesError(f"no joint {name!r}; the arm has {', '.join(arm.joint_names)}", subject=name)
    return arm.joint_names.index(name)


def _slides(arm, name: str) -> bool:
    return arm.position_units[_index(arm, name)] == "m"


def _amount(arm, name: str, text) -> float:
    """What a person says in degrees, for a sliding joint in metres [rad or m]."""
    slides = _slides(arm, name)
    try:
        return float(text) if slides else math.radians(float(text))
    except ValueError as error:
        raise InputError(
            f"{name}: {text!r} is not {'a length in metres' if slides else 'an angle in degrees'}", subject=name, value=text
        ) from error


def run(options) -> int:
    """Carry out one of the commands; prints one line of what came of it."""
    from picker_dynamics.nodes.client import ArmClient

    require_namespace(options.namespace)
    with ArmClient((), options.namespace) as client:
        arm, poses = None, None
        if options.command in NEED_THE_ARM:
            arm, poses = load_arm(options, client.running_arm())
            client.joint_names = arm.joint_names
        print(COMMANDS[options.command](options, arm, poses, client))
    return 0


def _move_to(client, arm, target, duration_s: float) -> str:
    took = client.move_through([max(duration_s, SHORTEST_S)], [target])
    return f"there after {took:.2f} s: " + _pose(arm, target)


def _pose(arm, q) -> str:
    return ", ".join(
        f"{name} {value:.3f} m" if _slides(arm, name) else f"{name} {math.degrees(value):.1f} deg"
        for name, value in zip(arm.joint_names, q)
    )


def _move(options, arm, _poses, client) -> str:
    client.wait_holding()
    return _move_to(client, arm, target_of(options, arm, client.reference()), options.duration)


def _home(options, arm, poses, client) -> str:
    return _move_to(client, arm, poses.home, options.duration)


def _park(options, arm, poses, client) -> str:
    return _move_to(client, arm, poses.home if poses.rest is None else poses.rest, options.duration)


def _jog(options, arm, _poses, client) -> str:
    client.wait_holding()
    target = client.reference().copy()
    target[_index(arm, options.joint)] += _amount(arm, options.joint, options.amount)
    return _move_to(client, arm, target, options.duration)


def _enable(options, arm, poses, client) -> str:
    if not options.yes and poses.rest is not None:
        print(f"Outputs that are off will be switched on one at a time, at the rest pose: {_pose(arm, poses.rest)}")
        try:
            answer = input("Does the arm stand there, and are hands away? Type yes: ")
        except EOFError:
            answer = ""
        if answer.strip().lower() != "yes":
            raise InputError("not enabled")
    return client.switch("enable", True)


def _payload(options, _arm, _poses, client) -> str:
    client.set_parameters("dynamics", payload__mass=float(options.mass))
    return f"payload {options.mass} kg"


def _status(_options, _arm, _poses, client) -> str:
    client.wait(lambda: client.controller and client.hardware, 5.0, "no controller and hardware node answer")
    client.spin(LATEST_S)
    return (
        f"hardware: {client.hardware['state']}: {client.hardware['message']}\n"
        f"controller: {client.controller['phase']}: {client.controller['message']}"
    )


NEED_THE_ARM = ("move", "home", "park", "jog", "enable")
"""The others work, and work at once, whatever arm it is."""

COMMANDS = {
    "move": _move,
    "home": _home,
    "park": _park,
    "jog": _jog,
    "stop": lambda _o, _a, _s, client: client.switch("emergency_stop", True),
    "reset": lambda _o, _a, _s, client: client.trigger("reset"),
    "relax": lambda _o, _a, _s, client: client.trigger("relax"),
    "disable": lambda _o, _a, _s, client: client.switch("enable", False),
    "enable": _enable,
    "payload": _payload,
    "status": _status,
}
