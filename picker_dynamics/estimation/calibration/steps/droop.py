"""Droop step: a person reads how far the arm sags at the stations that tell most (``procedure.droop_fit``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from picker_dynamics.control.supply_follow import checked_source
from picker_dynamics.execution.validator import MotionValidator

from ..arm_estimate import ArmEstimate
from ..droop_model import DroopModel, Weight, believed
from ..instruments import lay
from ..poses import Station, sensors, stand_off
from ..procedure import droop_fit
from ..questions import Context
from ..readings import TURN

NAME, TITLE, MINUTES = "droop", "how far the arm sags", 20
INTRODUCTION = (
    "The arm comes to a few poses from above and from below, and you read how its links stand: inclinometer along it, 0 when "
    "level, positive when the far end is up."
)

TOLERANCE, IMPOSSIBLE = math.radians(12.0), math.radians(38.0)
"""A reading further from what is expected is doubted; and one this far is refused: no servo explains it [rad]."""

COMING_SPEED = 0.1
"""At which a station is come to [rad/s]."""


def run_step(context: Context, estimate: ArmEstimate) -> ArmEstimate:
    """Readings at all stations, and the fit; readings that do not fit are read again, once."""
    if not estimate.loaded:
        context.tell("No joint bears weight in a way that can be read: stiffness and friction stay.", "warning")
        return estimate
    reader = StationReader(context, estimate)
    while True:
        found = droop_fit(estimate.description, estimate.servos, estimate.angles, reader, seed=context.seed)
        if not found.outliers or context.known("outliers"):
            return replace(estimate, fit=found)
        for i in found.outliers:
            one = found.readings[i]
            told = f"the elevation of {one.sensor.name}, {math.degrees(one.value):.1f} deg, is {abs(found.residuals[i]):.0f}"
            context.tell(f"{told} standard deviations from what all others say: read again.", "warning")
            context.forget(f"{_key(one.pulses_us, one.side)}.")
        context.note("outliers", True)


class StationReader:
    """Bench of ``procedure.droop_fit``: goes to stations, asks for the readings that are not on file."""

    def __init__(self, context: Context, estimate: ArmEstimate):
        self.context, self.estimate, self.supply = context, estimate, 1.0

    def keep(self, stations: list[Station]) -> list[Station]:
        """The stations as first chosen: what is read again at one of them changes no other."""
        known = self.context.known("stations")
        if known is None:
            known = self.context.note("stations", [one.pulses_us.tolist() for one in stations])
        seen = sensors(self.estimate.description, self.estimate.loaded)
        return [Station(np.array(pulses), Weight(), seen) for pulses in known]

    def read_station(
        self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]
    ) -> list[float] | None:
        """Readings at a station [rad], all of one coming; None: it is left out."""
        context, key = self.context, _key(station.pulses_us, side)
        keys = [f"{key}.elevation.{sensor.name}" for sensor in station.sensors]
        while context.known(f"{key}.skip") is None and any(context.known(one) is None for one in keys):
            context.forget(f"{key}.")
            self._go(validator, station, side, columns)
            if self._read(keys, station, validator, side) == "skip":
                context.note(f"{key}.skip", True, "skip")
        self.supply = context.known(f"{key}.supply") or 1.0
        return None if context.known(f"{key}.skip") else [context.known(one) for one in keys]

    def _go(self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> None:
        """Come to a station from one side, and let the arm come to rest."""
        context, mover, servos = self.context, self.context.arm(self.estimate), validator.servos
        there = servos.to_angle(station.pulses_us)
        context.tell(f"the arm moves, and comes to the pose from {'one' if side < 0.0 else 'the other'} side", "hint")
        mover.travel(validator, stand_off(servos, there, side, columns))
        mover.line(validator, there, COMING_SPEED)
        mover.wait(context.settle_s)
        if servos.measures_supply and servos.supply_v and mover.supply_mv:  # springs are proportional to it
            share = checked_source(1e-3 * mover.supply_mv / servos.supply_v)
            context.note(f"{_key(station.pulses_us, side)}.supply", share)

    def _read(self, keys: Sequence[str], station: Station, validator: MotionValidator, side: float) -> str:
        """Ask for the readings at a station; the word that was typed instead, or ''."""
        arm, servos = self.estimate.description, validator.servos
        model = DroopModel(arm, servos, self.estimate.loaded)
        believes = believed(servos)[model.columns].ravel()
        elevations = model.linearised(believes, station.readings(None, 0, side))[0]
        words = {"repeat": "come to this pose again", "skip": "leave it out"}
        for key, sensor, expected in zip(keys, sensors(arm, self.estimate.loaded), elevations.tolist()):
            text, what = f"Inclinometer on {sensor.link}, {lay(arm, sensor.link).laid}", f"elevation of {sensor.link}"
            near: dict[str, Any] = {"expected": expected, "within": TOLERANCE, "most": IMPOSSIBLE, "about": ("sensor", sensor)}
            value = self.context.read(key, text, what, "deg", -TURN, TURN, words=words, **near)
            if isinstance(value, str):
                return value
        return ""


def _key(pulses: np.ndarray, side: float) -> str:
    """The name of a visit in the session: what is looked at, not when."""
    where = "/".join(f"{pulse:.0f}" for pulse in pulses)
    return f"{'+' if side > 0 else '-'}@{where}#1"
