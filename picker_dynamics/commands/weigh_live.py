"""Weighing on a running graph: moves the arm from visit to visit, and asks, or listens where joints measure."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from picker_dynamics.bringup.bringup import require_namespace
from picker_dynamics.errors import InputError, LinkError
from picker_dynamics.robot import arms

from . import bench_commands, weigh

SETTLE_S, LISTEN_S = 2.0, 1.0
"""Until the arm stands after a motion, and how long joints that measure are listened to [s]."""

MOVE_S = 0.8
"""At least, for a motion between visits [s]."""

EFFORT_SD_FLOOR = 0.003
"""Of a measured effort, as a share of the joint's limit: noise does not say what a sensor is off by."""

BETTER_POSES = 500
"""Random poses among which a better one is looked for."""


def live(options):
    """Weigh on the running graph; what it found, and more for the report."""
    require_namespace(options.namespace)
    with _client(options) as client:
        name = client.running_arm()
        bench_commands.load_arm(options, name)  # refuses an arm that is not the one that runs
        if name in arms.names() and arms.load(name).control == "torque":
            return by_efforts(options, arms.load(name), client), {}
        return by_droop(options, client)


def tell(options, mass: float) -> None:
    """Set the dynamics node's payload [kg]."""
    require_namespace(options.namespace)
    with _client(options) as client:
        client.set_parameters("dynamics", payload__mass=float(mass), payload__com=[float(x) for x in options.com])


def _client(options):
    from picker_dynamics.nodes.client import ArmClient

    return ArmClient((), options.namespace)


# -- servos: how far the arm sags ----------------------------------------------------------------------------


def by_droop(options, client):
    """Visit poses without and with the payload; elevations are typed, measured angles listened to."""
    from picker_dynamics.estimation.payload.droop import Potentiometer
    from picker_dynamics.estimation.payload.poses import before

    scale, gate = weigh.scale_of(options)
    client.joint_names = scale.description.joint_names
    client.wait_holding()
    measured = client.hardware.get("provenance") == "measured"
    sensors = (
        tuple(Potentiometer(scale.servos.joint_names[column]) for column in scale.columns)
        if measured
        else (weigh.sensor_on(scale, options.link),)
    )
    visits, half = weigh.planned(options, scale, gate, sensors, client.reference())
    if not options.yes:
        _ask_yes(f"The arm will visit {len(visits) // 2} poses, twice. Is the scissor empty, and are hands away? Type yes: ")
    looks = []
    for visit in visits:
        if visit.loaded and visit.number == len(visits) // 2:
            _answer("Put the payload into the scissor, gently, and take your hands away. Then press Enter: ")
        for there in (before(scale, visit), scale.servos.to_angle(visit.pulses_us)):
            client.move_through([MOVE_S], [there])
        client.spin(SETTLE_S)
        there = replace(visit, pulses_us=_pulses(client, scale))
        looks += (
            there.measurements(sensors, _listened(client, scale, sensors))
            if measured
            else _typed(scale, there, len(visits), sensors[0])
        )
    return scale.weigh(looks, weigh.hint(scale, gate, sensors, scale.servos.home)), {"planned_half_width_kg": half}


def _typed(scale, visit, count: int, sensor) -> list:
    """The person reads the inclinometer; asked again where that is no angle, or none that can be."""
    while True:
        try:
            text = _answer(f"{visit.number + 1} of {count}: elevation of the {sensor.link} [deg]: ")
            looks = visit.measurements([sensor], [weigh.angle(sensor.link, text)])
            scale.require_plausible(looks)
            return looks
        except InputError as slip:
            if slip.subject == "input":
                raise
            print(slip, file=sys.stderr, flush=True)


def _answer(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    try:
        return input()
    except EOFError as error:
        raise InputError("nobody answers: not weighed", subject="input") from error


def _ask_yes(question: str) -> None:
    if _answer(question).strip().lower() != "yes":
        raise InputError("not weighed")


def _pulses(client, scale) -> np.ndarray:
    """What is on the servos' inputs now (n,) [us]: the set-points that the dynamics node sends."""
    servos = scale.servos
    return servos.quantise_us(servos.to_pulse_us(servos.clamp(_setpoint(client, scale.description.joint_names))))


def _setpoint(client, names) -> np.ndarray:
    """Position of the next ``joint_commands`` (n,) [rad]."""
    return np.asarray(client.next_command(names).position)


def _listened(client, scale, sensors) -> list[float]:
    """Mean angles of the joints [rad]."""
    q = client.listen(LISTEN_S)[0].mean(axis=0)
    return [float(q[scale.description.joint_names.index(sensor.joint)]) for sensor in sensors]


# -- joints that measure efforts ------------------------------------------------------------------------------


def by_efforts(options, arm, client):
    """Listen to the efforts that hold the arm where it stands, without and with the payload."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.payload.torque import MODEL_SHARE, weigh_by_effort

    description = arm.description
    client.joint_names = description.joint_names
    client.wait_holding()
    if not options.absolute:
        if not options.yes:
            _answer("Take everything out of the tool, and your hands away. Then press Enter: ")
        empty, _ = _at_rest(client, description, False)
        _answer("Now put the payload in, and take your hands away. Then press Enter: ")
    samples, sd = _at_rest(client, description, True)
    if not options.absolute:
        samples = empty.joined(samples)
    model = RigidBody(description)
    return weigh_by_effort(
        model,
        samples,
        sd,
        description.effort,
        tuple(options.com),
        better=_better(model, arm, options.com),
        model_share=0.0 if options.absolute else MODEL_SHARE,
    )


def _at_rest(client, description, loaded: bool):
    """Mean effort of a second where the arm stands, and its noise (n,) [N·m or N]."""
    from picker_dynamics.estimation.payload.torque import EffortSamples

    client.spin(LISTEN_S)
    q, effort = client.listen(LISTEN_S)
    if effort is None:
        raise LinkError("joint_states carry no efforts: nothing tells what the tool holds")
    sd = np.maximum(effort.std(axis=0), EFFORT_SD_FLOOR * description.effort)
    return EffortSamples.at_rest(q.mean(axis=0), effort.mean(axis=0), loaded=loaded), sd


def _better(model, arm, com) -> str:
    """A pose with a longer lever, in words, that the drives can hold."""
    description, rng = arm.description, np.random.default_rng(0)
    q = rng.uniform(np.maximum(description.lower, -np.pi), np.minimum(description.upper, np.pi), (BETTER_POSES, description.n))
    empty = model.gravity(q)
    lever = model.with_payload(1.0, tuple(com)).gravity(q) - empty
    held = (np.abs(empty + 0.5 * lever) < arm.hold_limit).all(axis=-1)
    best = q[int(np.where(held, np.abs(lever / description.effort).max(axis=-1), 0.0).argmax())]
    return "better: " + ", ".join(f"{name} {value:.2f}" for name, value in zip(description.joint_names, best))
