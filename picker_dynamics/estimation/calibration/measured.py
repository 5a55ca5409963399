"""Calibration by its own servos: an arm whose servos measure reads where it stands (``by_itself``).

Every joint comes to each station from both sides: goal - present is the servo's spring, half of what differs the friction of its
gears, the mean what the joint bears over K.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from picker_dynamics.bus.bus_session import BusSession
from picker_dynamics.bus.dialects import DIALECTS
from picker_dynamics.control.supply_follow import checked_source
from picker_dynamics.controller.parameters import DYNAMICS
from picker_dynamics.errors import BoardFaultError, ConfigurationError, PickerError
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.session.local import LocalSession

from .by_itself import LOOK_S, Looker, sought
from .droop_fit import DroopFit
from .droop_model import Reading
from .instruments import Encoder
from .poses import Station

BARE, LOADED = 14, 6
"""Stations without and with the known weight; where there is none all of them are bare."""

STANDS_S, STANDS, PATIENCE_S, SAMPLES = 0.3, 1.5, 4.0, 15
"""For how long joints have to keep within so many steps, and how long that is waited for [s]; samples of a reading."""

MOVES, BLOCKED = 0.2, 1.5
"""A joint that makes less of its way does not move; one whose goal is so many times further off than its stall torque turns its
spring, and speed aside, is blocked."""

SUPPLY_SD = 0.004
"""How well servos measure their supply, as a share: a step is a tenth of a volt."""


class Stander(Looker):
    """Reads an arm on bus servos.

    Args:
        session: as for ``Looker``.

    Raises:
        ConfigurationError: its joints are not measured.
    """

    supply_sd = SUPPLY_SD

    def __init__(self, session: LocalSession):
        outputs, servos = session.arm.outputs, session.arm.servos
        if not isinstance(outputs, BusSession) or servos is None:
            name = session.arm.description.name
            raise ConfigurationError(f"{name} does not measure its joints: a person has to read them", name)
        super().__init__(session, sought(session.arm.description, servos))
        session.set(DYNAMICS, {"integral": False, "contact_stop": False})
        self.measured = outputs.measured
        self.seen = tuple(Encoder(name, step_of(servos)) for name in self.model.joints)

    @property
    def moved(self) -> list[int]:
        """Joints that gravity tells something of."""
        return [j for j, one in zip(self.model.columns, self.model.bears) if one]

    def stages(self, weight_kg: float) -> list[tuple[str, float, int]]:
        """Bare stations, then those with the weight."""
        return [("bare", 0.0, BARE), ("loaded", weight_kg, LOADED)] if weight_kg else [("bare", 0.0, BARE + LOADED)]

    def read(self, there: np.ndarray, side: float) -> dict[str, Any]:
        """Come to ``there`` (n,) [rad] from one side, and read goals and positions (n,) [rad], and the supply's share.

        Raises:
            GoalRefusedError: there is no way.
            GoalAbortedError, BoardFaultError, LinkError: a joint is blocked, does not move or stand; a fault; the bus is gone.
        """
        away = self.leave(there, side)
        began = self.measured.q
        self.come(there, away)
        moved, least = np.abs(self.measured.q - began), MOVES * np.abs(there - away)
        if (stuck := moved < least).any():
            j = int(stuck.argmax())
            text = f"{self.arm.joint_names[j]} moved by {moved[j]:.3f} rad, must be {least[j]:.3f} at least: what holds it?"
            raise BoardFaultError(text, self.arm.joint_names[j], float(moved[j]), float(least[j]))
        return self.measure()

    def measure(self) -> dict[str, Any]:
        """Goals and positions (n,) [rad], and the supply's share, of an arm at rest."""
        rows = []
        for _ in range(SAMPLES):
            self.session.spin(self.session.arm.period_s)
            rows.append((self.measured.goals, self.measured.q, self.measured.volts))
        goals, q, volts = (np.mean(column, axis=0) for column in zip(*rows))
        share = float(volts.mean()) / self.servos.supply_v if self.servos.supply_v else 1.0
        return {"goals": goals.tolist(), "q": q.tolist(), "supply": checked_source(share)}

    def readings(self, station: Station, side: float, seen: Mapping[str, Any], visit: int) -> list[Reading]:
        """Readings of a visit, at the goals that the servos had."""
        there = replace(station, pulses_us=self.servos.to_pulse_us(np.array(seen["goals"])))
        return there.readings([seen["q"][j] for j in self.model.columns], visit, side, seen["supply"])

    def watch(self) -> None:
        """Stop where a joint is blocked: it holds where it is."""
        servo, measured = self.servos.model, self.measured
        off = np.abs(measured.goals - measured.q)
        most = (BLOCKED * servo.stall_torque + servo.damping * np.abs(measured.v)) / servo.stiffness
        if (off > most).any():
            j = int((off / most).argmax())
            self.session.cancel()
            with suppress(PickerError):  # what is said below is why
                self.session.move_to(1.0, np.clip(self.measured.q, self.arm.lower, self.arm.upper))
            name = self.arm.joint_names[j]
            text = f"{name} is {off[j]:.2f} rad from its goal, allowed {most[j]:.2f}: is it blocked? The arm holds"
            raise BoardFaultError(text, name, float(off[j]), float(most[j]))

    def stand(self) -> None:
        """Wait until the arm stands."""
        begin_s = since_s = self.session.now_s
        where = self.measured.q
        while self.session.now_s - since_s < STANDS_S:
            self.session.spin(LOOK_S)
            if (moved := np.abs(self.measured.q - where)).max() > STANDS * step_of(self.servos):
                where, since_s = self.measured.q, self.session.now_s
                if since_s - begin_s > PATIENCE_S:
                    name = self.arm.joint_names[int(moved.argmax())]
                    raise BoardFaultError(f"{name} does not come to rest within {PATIENCE_S:g} s: does it shake?", name)

    def remarks(self, found: DroopFit, weight_kg: float) -> Iterator[str]:
        """What the readings leave open, for a person."""
        model = found.model
        blind = [joint for joint, bears in zip(model.joints, model.bears) if not bears]
        if blind:
            yield (
                f"Gravity tells nothing of the zeros of {', '.join(blind)}: they stay as the servo map, or LeRobot's file, has "
                "them; of their springs and friction only what both give together."
            )
        if not weight_kg:
            yield "No known mass hung on the arm: stiffness and masses may all be off by the same share (--weight GRAMS tells)."
        others = [name for name in model.description.joint_names if name not in model.joints]
        if others:
            yield f"{', '.join(others)}: not looked at; its spring is taken to be like the others'. Limits are the servo map's."


def step_of(servos: ServoMap) -> float:
    """A step in which these servos measure [rad]."""
    return DIALECTS[servos.bus or ""].step
