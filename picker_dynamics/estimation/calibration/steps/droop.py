"""Droop step: a person reads how far the arm sags at the stations that tell most (``procedure.droop_fit``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.control.supply_follow import checked_source
from picker_dynamics.execution.validator import MotionValidator

from ..arm_estimate import ArmEstimate
from ..droop_model import DroopModel, Weight, believed
from ..poses import SIDES, Station, bearable_weights, sensors, stand_off, with_weight
from ..procedure import droop_fit
from ..questions import Context
from ..servo_figures import calibrated_servos

NAME, TITLE, MINUTES = "droop", "how far the arm sags, bare and with weights", 30
INTRODUCTION = (
    "The arm comes to a few poses from above and from below, and you read how its links stand: inclinometer along it, 0 when "
    "level, positive when the far end is up. Hang weights on gently; hold them until the arm bears them."
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
    if not (estimate.links or context.quick):
        context.tell("No link was measured: the URDF's masses count as exact, and their errors go into the stiffness.", "warning")
    weights, reader = [Weight()] if context.quick else _weights(context, estimate), StationReader(context, estimate)
    while True:
        arm, servos, angles = estimate.description, estimate.servos, estimate.angles
        found = droop_fit(arm, servos, angles, reader, weights, seed=context.seed, quick=context.quick)
        if not found.outliers or context.known("outliers"):
            return replace(estimate, fit=found)
        for i in found.outliers:
            one = found.readings[i]
            told = f"the elevation of {one.sensor.name}, {math.degrees(one.value):.1f} deg, is {abs(found.residuals[i]):.0f}"
            context.tell(f"{told} standard deviations from what all others say: read again.", "warning")
            context.forget(f"{_key(one.pulses_us, one.weight, one.side)}.")
        context.note("outliers", True)


def _weights(context: Context, estimate: ArmEstimate) -> list[Weight]:
    """What a person hangs on, weighed: about as heavy as this arm bears."""
    servos, found = calibrated_servos(estimate.servos, estimate.angles), [Weight()]
    for number, one in enumerate(bearable_weights(DroopModel(estimate.description, servos, estimate.loaded))):
        if one.mass:
            text = f"Hang about {1e3 * one.mass:.0f} g {one.where}: what does yours weigh, hook and string included"
            low, high = 0.5 * one.mass, 1.25 * one.mass
            mass = context.read(
                f"weight.{number}", text, "the weight", "g", low, high, expected=one.mass, about=("weight", one.mass)
            )
            found.append(Weight(float(mass), one.point))
    return found


class StationReader:
    """Bench of ``procedure.droop_fit``: goes to stations, has weights hung on, asks for the readings that are not on file."""

    def __init__(self, context: Context, estimate: ArmEstimate):
        self.context, self.estimate, self.supply = context, estimate, 1.0

    def keep(self, stage: str, stations: list[Station]) -> list[Station]:
        """The stations of a stage as first chosen: what is read again at one of them changes no other."""
        known = self.context.known(f"stations.{stage}")
        if known is None:
            chosen = [[one.pulses_us.tolist(), one.weight.mass, list(one.weight.point)] for one in stations]
            known = self.context.note(f"stations.{stage}", chosen)
        seen = sensors(self.estimate.description, self.estimate.loaded)
        return [Station(np.array(pulses), Weight(mass, tuple(point)), seen) for pulses, mass, point in known]

    def read_station(
        self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]
    ) -> list[float] | None:
        """Readings at a station [rad], all of one coming; None: it is left out.  The weight comes off after the second."""
        context, key = self.context, _key(station.pulses_us, station.weight, side)
        keys = [f"{key}.elevation.{sensor.name}" for sensor in station.sensors]
        while context.known(f"{key}.skip") is None and any(context.known(one) is None for one in keys):
            context.forget(f"{key}.")
            self._go(validator, station, side, columns)
            if self._read(keys, station, validator, side) == "skip":
                context.note(f"{key}.skip", True, "skip")
        if side == SIDES[-1]:
            context.take_off()
        self.supply = context.known(f"{key}.supply") or 1.0
        return None if context.known(f"{key}.skip") else [context.known(one) for one in keys]

    def _go(self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> None:
        """Come to a station from one side, with its weight on, and let the arm come to rest."""
        context, mover, servos = self.context, self.context.arm(self.estimate), validator.servos
        there, weight = servos.to_angle(station.pulses_us), station.weight
        away = stand_off(servos, there, side, columns)
        hung = f", with {1e3 * weight.mass:.0f} g" if weight.mass else ""
        if context.hanging != [weight.mass, *weight.point]:
            context.take_off()
        context.tell(f"the arm moves, and comes to the pose from {'one' if side < 0.0 else 'the other'} side{hung}", "hint")
        mover.travel(validator, away, weight if context.hanging else None)
        if weight.mass and not context.hanging:
            text = f"Hang {1e3 * weight.mass:.0f} g {weight.where}, gently, until the arm bears it. Are hands away again?"
            context.agree("hang", text, "the arm holds", ("hang", weight.mass, weight.point))
            context.session.record("arm", "hanging", [weight.mass, *weight.point])
        mover.line(with_weight(validator, weight), there, COMING_SPEED)
        mover.wait(context.settle_s)
        if servos.measures_supply and servos.supply_v and mover.supply_mv:  # springs are proportional to it
            share = checked_source(1e-3 * mover.supply_mv / servos.supply_v)
            context.note(f"{_key(station.pulses_us, weight, side)}.supply", share)

    def _read(self, keys: Sequence[str], station: Station, validator: MotionValidator, side: float) -> str:
        """Ask for the readings at a station; the word that was typed instead, or ''."""
        arm, servos = self.estimate.description, validator.servos
        model = DroopModel(arm, servos, self.estimate.loaded)
        believes = believed(servos)[model.columns].ravel()
        elevations = model.linearised(believes, station.readings(None, 0, side))[0]
        words = {"repeat": "come to this pose again", "skip": "leave it out"}
        for key, sensor, expected in zip(keys, sensors(arm, self.estimate.loaded), elevations.tolist()):
            value = self.context.read_inclinometer(key, arm, sensor, expected, TOLERANCE, most=IMPOSSIBLE, words=words)
            if isinstance(value, str):
                return value
        return ""


def _key(pulses: np.ndarray, weight: Weight, side: float) -> str:
    """The name of a visit in the session: what is looked at, not when."""
    where = "/".join(f"{pulse:.0f}" for pulse in pulses)
    hung = f"+{1e3 * weight.mass:.0f}g{math.hypot(*weight.point):+.2f}" if weight.mass else ""
    return f"{'+' if side > 0 else '-'}@{where}{hung}#1"
