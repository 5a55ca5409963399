"""``picker move|home|park|jog|stop|reset|enable|relax|payload|status``: a person at a bench, talking to a running graph."""

from __future__ import annotations

import math

import numpy as np

from picker_dynamics import description, servo_map
from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.kinematics import PickerKinematics
from picker_dynamics.resources import resource

SHORTEST_S = 0.8
"""A move asks for this duration; the controller slows it to what tip speed and torque allow."""

LATEST_S = 0.3
"""How long ``status`` listens, so that the last of several latched messages is the one it tells [s]."""


def load_arm(options):
    """The arm and its servo map, as the options name them."""
    arm = description.load(options.urdf or resource("urdf/picker.urdf"))
    return arm, servo_map.load(options.servos or resource("config/servos.yaml"), arm.joint_names)


def target_of(options, arm, held: np.ndarray) -> np.ndarray:
    """Joint positions (n,) [rad] that ``picker move`` asks for.

    Raises:
        InputError: neither or both of ``--tip`` and ``--joints``.
        UnreachableError: no configuration reaches the tip position.
    """
    if bool(options.tip) == bool(options.joints):
        raise InputError("give either --tip X Y Z or --joints NAME=DEG ...")
    if options.tip:
        kinematics = PickerKinematics(arm)
        if options.pitch_deg is not None:
            pitch = math.radians(options.pitch_deg)
        else:
            pitch = kinematics.reachable_pitch(options.tip, preferred=0.0, near=held)
        return kinematics.inverse(options.tip, pitch, near=held)
    target = held.copy()
    for assignment in options.joints:
        name, _, value = assignment.partition("=")
        target[_index(arm, name)] = math.radians(_degrees(name, value))
    return target


def _index(arm, name: str) -> int:
    if name not in arm.joint_names:
        raise JointNamesError(f"no joint {name!r}; the arm has {', '.join(arm.joint_names)}", joint=name)
    return arm.joint_names.index(name)


def _degrees(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{name}: {text!r} is not an angle in degrees", joint=name, value=text) from error


def run(options) -> int:
    """Carry out one of the commands; prints one line of what came of it."""
    from picker_dynamics.nodes.client import ArmClient

    arm, servos = load_arm(options)
    with ArmClient(arm.joint_names, options.namespace) as client:
        print(COMMANDS[options.command](options, arm, servos, client))
    return 0


def _move_to(client, arm, target, duration_s: float) -> str:
    took = client.move_through([max(duration_s, SHORTEST_S)], [target])
    return f"there after {took:.2f} s: " + _pose(arm, target)


def _pose(arm, q) -> str:
    return ", ".join(f"{name} {math.degrees(angle):.1f} deg" for name, angle in zip(arm.joint_names, q))


def _move(options, arm, _servos, client) -> str:
    client.wait_holding()
    return _move_to(client, arm, target_of(options, arm, client.reference()), options.duration)


def _home(options, arm, servos, client) -> str:
    return _move_to(client, arm, servos.home, options.duration)


def _park(options, arm, servos, client) -> str:
    return _move_to(client, arm, servos.rest, options.duration)


def _jog(options, arm, _servos, client) -> str:
    client.wait_holding()
    target = client.reference().copy()
    target[_index(arm, options.joint)] += math.radians(options.degrees)
    return _move_to(client, arm, target, options.duration)


def _enable(options, arm, servos, client) -> str:
    if not options.yes:
        print(f"Outputs that are off will be switched on one at a time, at the rest pose: {_pose(arm, servos.rest)}")
        if input("Does the arm stand there, and are hands away? Type yes: ").strip().lower() != "yes":
            raise InputError("not enabled")
    return client.switch("enable", True)


def _payload(options, _arm, _servos, client) -> str:
    client.set_parameters("dynamics", payload__mass=float(options.mass))
    return f"payload {options.mass} kg"


def _status(_options, _arm, _servos, client) -> str:
    client.wait(lambda: client.controller and client.hardware, 5.0, "no controller and hardware node answer")
    client.spin(LATEST_S)
    return (f"hardware: {client.hardware['state']}: {client.hardware['message']}\n"
            f"controller: {client.controller['phase']}: {client.controller['message']}")


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
