"""Parking: brings the arm to its rest pose without the other nodes, as the last thing that the hardware node does."""

from __future__ import annotations

import time
from collections.abc import Callable

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import State
from picker_dynamics.control.compensation import Compensator
from picker_dynamics.errors import BoardFaultError
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.execution.validator import motion_validator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import tip_way
from picker_dynamics.trajectory.trajectory import from_points

LEAD_S = 0.06
PERIOD_S = 0.01
TIP_SPEED = 0.15
"""Largest speed of the tool while parking [m/s]."""
STANDS_S = 3.0
"""Within which what was commanded before comes to rest [s]."""
SHORTEST_S, SHORTEST_S_M = 1.0, 1.5
"""Before it is slowed, and for each metre of the tip's way."""


def park(
    session: HardwareSession,
    arm: ArmDescription,
    hurried: Callable[[], bool] = lambda: False,
    meanwhile: Callable[[], object] = lambda: None,
) -> float:
    """Move slowly from where the arm comes to rest to the servo map's rest pose; returns how long that took [s].

    Blocks until it is there, or ``hurried()``; ``meanwhile()`` is called at each step, and may stop the arm.

    Raises:
        PickerError: the way to the rest pose cannot be taken, a fault or a stop on the way, or hurried; the arm holds then.
    """

    def go_on() -> None:
        session.tick(time.monotonic())
        meanwhile()
        if session.state is not State.ACTIVE:
            raise BoardFaultError(f"not parked: {session.problem}")
        if hurried():
            session.stop()
            raise BoardFaultError("not parked: told to end at once; holding")

    seen, until_s = session.telemetry(), time.monotonic() + STANDS_S
    while (telemetry := session.telemetry()) is seen or telemetry.state.moves:  # the last it heard may be of before a set-point
        go_on()
        if time.monotonic() > until_s:
            raise BoardFaultError("not parked: the arm does not come to rest")
        time.sleep(PERIOD_S)
    session.rejoin()
    servos, model = session.servos, session.model.model
    validator = motion_validator(arm, TorqueLimits.of_servos(servos), model, tip_speed=TIP_SPEED)
    rest, still = servos.rest, [0.0] * servos.n
    shortest_s = max(SHORTEST_S, SHORTEST_S_M * tip_way(arm, session.held, rest))

    def build(factor: float):
        return from_points(
            [shortest_s * factor], [rest], [still], [still], start=(session.held, still, still), joint_names=arm.joint_names
        )

    trajectory = validator.scale_time(build).trajectory
    compensator = Compensator(model, servos.model, setpoint_lower=servos.setpoint_lower, setpoint_upper=servos.setpoint_upper)
    compensator.start(session.setpoint - session.held)
    begin, epoch = time.monotonic() + LEAD_S, session.epoch
    steps = int((trajectory.duration + 2 * LEAD_S) / PERIOD_S) + 1
    for step in range(steps):
        now = time.monotonic()
        t = begin + step * PERIOD_S
        time.sleep(max(0.0, t - LEAD_S - now))
        go_on()
        if session.epoch != epoch:
            raise BoardFaultError(f"not parked: {session.problem}")
        late = time.monotonic() - (t - LEAD_S)
        if late > PERIOD_S:  # this process stood still: go on from where the arm is by then, as slowly
            begin, t = begin + late, t + late
        setpoint, _ = compensator.update(*trajectory.sample(step * PERIOD_S), PERIOD_S)
        session.command(t, setpoint, time.monotonic())
    return trajectory.duration
