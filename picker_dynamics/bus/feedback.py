"""Feedback of bus servos: what they are, and samples of what they measure; where a reply is missing the last sample ages."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from picker_dynamics.board.clock import Clock
from picker_dynamics.control.supply_follow import SupplyFollower
from picker_dynamics.errors import BoardFaultError, LinkError
from picker_dynamics.robot.servo_map import ServoMap

from .dialects import Dialect
from .goal_sender import GoalSender
from .transport import Reply, Transport

ATTEMPTS = 3
"""How often a register is asked for at connecting."""

SAMPLE = {"torque", "goal", "torque_limit", "present_position", "present_speed", "present_voltage", "present_temperature"}
"""Registers that are taken of each sample."""

FASTER, ASIDE = 2.0, 8
"""A sample that a joint reaches only at more than so many times its fastest, and so many steps, is damaged: its sum was right by
chance."""


class Feedback:
    """What the servos of one arm say of themselves.

    Args:
        link, dialect, ids: their bus, registers and ids.
        servos: joint <-> horn, and their figures.
        sender: of their goals; converts steps, and learns where the joints are.
        clock: host time, the bus's.

    Attributes:
        sample_s, q, v: when the last whole sample was taken [s], -inf: never; positions and velocities (n,) then [rad or m, 1/s].
        goals: (n,) that the servos have [rad or m].
        powered: (n,) whether torque is on; limit, most: torque limits now, and at most, as shares.
        volts, celsius: (n,) supply and temperature that the servos measure.
        errors: (n,) status bytes, the last of each; missing, lost: samples without the joint, in a row and in all.
        supply: source of the servos' supply.
    """

    def __init__(self, link: Transport, dialect: Dialect, ids: Sequence[int], servos: ServoMap, sender: GoalSender, clock: Clock):
        self._link, self._dialect, self._ids, self._servos, self._sender, self._clock = link, dialect, ids, servos, sender, clock
        n, self._span = servos.n, dialect.span(*dialect.feedback)
        self.supply = SupplyFollower(servos, measured=True)
        self.sample_s, self.q, self.v, self.goals = -math.inf, np.array(servos.rest), np.zeros(n), np.array(servos.rest)
        self.powered, self.limit, self.most = np.zeros(n, dtype=bool), np.ones(n), np.ones(n)
        self.volts, self.celsius = np.zeros(n), np.zeros(n)
        self.errors, self.missing, self.lost = np.zeros(n, dtype=int), np.zeros(n, dtype=int), np.zeros(n, dtype=int)

    def name(self, joint: int) -> str:
        """Joint and servo in words."""
        return f"{self._servos.joint_names[joint]} (servo {self._ids[joint]})"

    def names(self, which: np.ndarray) -> str:
        """Those joints, (n,) whether, in words."""
        return ", ".join(self.name(joint) for joint in np.flatnonzero(which).tolist())

    @property
    def faults(self) -> str:
        """What the servos' status bytes say, with joint, voltage and temperature; '' where all is well."""
        return "; ".join(
            f"{self.name(joint)}: {self._dialect.said(error)}, {self.volts[joint]:.1f} V, {self.celsius[joint]:.0f} deg C"
            for joint, error in enumerate(self.errors.tolist())
            if error
        )

    @property
    def outputs(self) -> str:
        """Whether torque is on: ``running``, ``partly`` or ``off``; ``unknown`` before the first sample."""
        if self.sample_s == -math.inf:
            return "unknown"
        return "running" if self.powered.all() else "partly" if self.powered.any() else "off"

    def identify(self) -> str:
        """Read what the servos are, and their limits, and a first sample; returns that in words.

        Raises:
            LinkError: a servo does not answer.
            BoardFaultError: a servo is of another model or mode, or set up otherwise than the map says, or its supply cannot be.
        """
        dialect, joints = self._dialect, range(self._servos.n)
        address, size = dialect.span("firmware_major", "mode" if "mode" in dialect.registers else "unload_mask")
        blocks = [self._ask(joint, address, size).data for joint in joints]
        inside = [name for name, register in dialect.registers.items() if register.address < address + size]
        has = {name: [dialect.decode(name, block, address) for block in blocks] for name in inside}
        for joint in joints:
            subject, model, mode = (
                self._servos.joint_names[joint],
                has["model"][joint],
                has["mode"][joint] if "mode" in has else 0,
            )
            if model not in dialect.models:
                known = ", ".join(f"{name} ({number})" for number, name in dialect.models.items())
                raise BoardFaultError(f"{self.name(joint)} is model {model}, not {known}", subject, model)
            for register, key in (("model", "model_number"), ("p_gain", "p_gain"), ("offset", "homing_offset")):
                wanted = getattr(self._servos.servos[joint], key)
                if register in has and wanted not in (None, value := has[register][joint]):
                    text = f"{self.name(joint)} has {register} {value}, the servo map says {key} {wanted}"
                    raise BoardFaultError(text, subject, value, wanted)
            if mode:
                raise BoardFaultError(f"{self.name(joint)} is in mode {mode}, must be in position mode, 0", subject, mode, 0)
        self._sender.set_phases(has["phase"])
        self._sender.limit_ticks(has["position_min"], has["position_max"])
        self.most = 1e-3 * np.array(has["torque_max"])
        self.missing[:], self.sample_s = 0, -math.inf
        for joint in joints:
            self._ask(joint, *self._span)
        self.read()
        if self.sample_s == -math.inf:
            raise LinkError("the servos answer one by one, and not together: is the bus too slow?")
        if self.supply.problem:
            raise BoardFaultError(self.supply.problem, "supply", float(self.volts.mean()))
        models = ", ".join(sorted({dialect.models[model] for model in has["model"]}))
        firmware = ", ".join(sorted({f"{major}.{minor}" for major, minor in zip(has["firmware_major"], has["firmware_minor"])}))
        warmest = int(self.celsius.argmax())
        return (
            f"{self._servos.n} {models}, firmware {firmware}, {self.volts.min():.1f} V, "
            f"{self.celsius[warmest]:.0f} deg C at most ({self._servos.joint_names[warmest]}), torque {self.outputs}"
        )

    def _ask(self, joint: int, address: int, size: int) -> Reply:
        """Read registers of one servo; raises a LinkError where it does not answer."""
        for _ in range(ATTEMPTS):
            if (reply := self._link.read(self._ids[joint], address, size)) is not None:
                return reply
        text = f"{self.name(joint)} does not answer: power, cable, speed, two servos with one id?"
        raise LinkError(text, self._servos.joint_names[joint])

    def read(self) -> None:
        """Take one sample of all servos."""
        begin_s = self._clock.now()
        replies = self._link.sync_read(self._ids, *self._span)
        now_s, first = 0.5 * (begin_s + self._clock.now()), self.sample_s == -math.inf
        gone = np.array([reply is None for reply in replies])
        value = {
            name: [0 if reply is None else self._dialect.decode(name, reply.data, self._span[0]) for reply in replies]
            for name in SAMPLE & self._dialect.registers.keys()
        }
        q, since_s = self._sender.angles(value["present_position"]), 0.0 if first else now_s - self.sample_s
        if not first:
            way = FASTER * self._servos.no_load_speed * since_s + ASIDE * self._dialect.step * self._servos.per_turn
            gone |= np.abs(q - self.q) > way
        self.missing = np.where(gone, self.missing + 1, 0)
        self.lost += gone
        self.errors = np.where(gone, self.errors, [0 if reply is None else reply.error for reply in replies])
        if gone.any():
            return
        self.sample_s, self.q, self.v = now_s, q, self._sender.speeds(value["present_speed"])
        self.volts, self.celsius = 0.1 * np.array(value["present_voltage"]), np.array(value["present_temperature"])
        self.powered, self.goals = np.array(value["torque"]) == 1, self._sender.angles(value["goal"])
        self.limit = 1e-3 * np.array(value["torque_limit"]) if "torque_limit" in value else self.most
        self._sender.there = self.q, self.goals
        pull = self._servos.model.spring_torque(self.goals, self.q) * self.powered
        self.supply.measure(round(1e3 * float(self.volts.mean())), pull, since_s)
