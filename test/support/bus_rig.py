"""A whole arm on bus servos by its settings, on virtual time: bus and true arm in memory, the loop called by the test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from arm_rig import PERIOD_S, Rig

from picker_dynamics.board.session import State
from picker_dynamics.bus.dialects import STS
from picker_dynamics.controller import parameters
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.sim.bus_in_memory import BusInMemory
from picker_dynamics.sim.plant import Plant

TYPICAL = str(resource("config/servos.sim.yaml"))
_, SERVOS = servo_arm.load("", "", TYPICAL)
NAMES = SERVOS.joint_names


class RecordingBus(BusInMemory):
    """Bus that keeps the goals that are written: time [s], and (goal, torque limit) by servo."""

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.goals: list[tuple[float, dict[int, tuple[int, int]]]] = []

    def send(self, data: bytes) -> None:
        if data[4] == 0x83 and data[5] == 41 and data[6] == 9:  # sync write from 41 on: goal at 42, torque limit at 48
            size = data[6] + 1
            each = [data[begin : begin + size] for begin in range(7, len(data) - 1, size)]
            self.goals.append((self.now(), {one[0]: (one[2] | one[3] << 8, one[8] | one[9] << 8) for one in each}))
        super().send(data)


class BusRig(Rig):
    """An arm with its typical servos on a bus; it lies at ``q``, supported until its servos first have torque.

    Args:
        urdf: of the arm; the picker's by default.
        dialect: of the servos; ``before``: is done to the bus at first.
        error, seed: bound of the true arm's errors, and what they are drawn from.
        settings: ``part__name=value``.
    """

    def __init__(
        self,
        q=None,
        urdf="",
        overlay="",
        connect=True,
        before=None,
        dialect=STS,
        period_s=PERIOD_S,
        error=0.0,
        seed=0,
        **settings,
    ):
        overlay = overlay or ("typical" if urdf else TYPICAL)
        description, servos = servo_arm.load(urdf, "", overlay)
        values = {part: {"servo_overlay": overlay, "urdf": urdf} for part in parameters.PARTS}
        servos = replace(servos, bus=dialect.name)
        values[parameters.CONTROLLER]["rate_hz"] = 1.0 / period_s
        for name, value in settings.items():
            part, _, name = name.partition("__")
            values[part][name.replace("__", ".")] = value
        self.period_s = period_s
        true = {"plant_error": error, "seed": seed, "support": True, "quantise": False, "dt": 1e-3}
        self.plant = Plant(description, servos, q=servos.rest if q is None else q, **true)
        self.board = self.bus = RecordingBus(self.plant, servos)
        if before is not None:
            before(self.bus)
        made = parameters.settings(values)
        known = Known(description, servos, None)
        self.arm = RunningArm(made, self.bus, open_port=self.bus.open, known=known, plans_beside=False)
        self.outputs, self.session, self.execution = self.arm.outputs, self.arm.session, self.arm.controller.execution
        self.tips, self.q, self.set_points, self.events, self.cycles = [], [], [], [], []
        self.asked = []
        self.due_s = self.bus.now()
        if connect:
            self.arm.connect(0.0)
            self.due_s = self.bus.now()

    def run(self, seconds: float, stalls: bool = False) -> None:
        for _ in range(round(seconds / self.period_s)):
            if not stalls:
                cycle = self.session.cycle()
                self.events += cycle.tick.events
                self.cycles.append(cycle)
            self.due_s += self.period_s
            self.bus.run(self.due_s - self.bus.now())
            self.tips.append(self.plant.tip.copy())
            self.q.append(np.array(self.plant.q))
            self.set_points.append(np.array(self.plant.setpoint))

    def enable(self) -> BusRig:
        """Enable, and wait until commands are taken."""
        self.session.enable(at_rest_pose=False)
        self.run(2.0)
        assert self.outputs.state is State.ACTIVE, self.outputs.problem
        return self
