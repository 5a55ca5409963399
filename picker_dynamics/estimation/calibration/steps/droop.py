"""Droop step: a person reads how far the arm sags at the stations that tell most (``procedure.droop_fit``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.control.supply_follow import checked_source
from picker_dynamics.errors import InfeasibleError, InputError, LimitError, refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.kinematic_tree import link_poses

from .. import pose_figure, readings
from ..arm_estimate import ArmEstimate
from ..droop_model import DroopModel
from ..joint_map import resting_at
from ..person import LeaveError, OpenQuestionError
from ..poses import Station, Weight, bearable_weights, sensors, stand_off, with_weight
from ..procedure import droop_fit
from ..servo_figures import calibrated_servos
from ..statics import lifts
from ..step_context import StepContext

NAME, TITLE, MINUTES = "droop", "how far the arm sags, bare and with weights", 30

TOLERANCE = {"rad": math.radians(12.0), "m": 0.08}
"""A reading further from what is expected is doubted [rad, m]."""

IMPOSSIBLE = {"rad": math.radians(38.0), "m": 0.24}
"""And one this far is refused: no servo explains it."""

COMING_SPEED = 0.1
"""At which a station is come to [rad/s]: three times slower than jogging."""


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Readings at all stations, and the fit; readings that do not fit are read again, if the person says so."""
    if not estimate.loaded:
        context.tell(
            "No joint bears weight in a way that an inclinometer or a ruler could tell: stiffness and friction stay.", "warning"
        )
        return estimate
    context.explain(
        "The arm comes to a few poses from above and from below, and you read how its links stand: inclinometer along it, "
        "0 when level, positive when the far end is up; of one that slides, how high it is. Hang weights on gently; hold them "
        "until the arm bears them."
    )
    if not (estimate.links or context.quick):
        context.tell("No link was measured: the URDF's masses count as exact, and their errors go into the stiffness.", "warning")
    weights, reader = [Weight()] if context.quick else _weights(context, estimate), StationReader(context, estimate)
    while True:
        arm, servos, links, angles = estimate.description, estimate.servos, estimate.links, estimate.angles
        try:
            found = droop_fit(arm, servos, links, angles, reader, weights, seed=context.seed, quick=context.quick)
        except OpenQuestionError:
            raise
        except InputError as error:
            words = {"again": "all poses once more", "leave": "end here; what was answered is kept"}
            if context.choose("misfit", f"These readings cannot be fitted: {error}", words, keep=False) == "leave":
                raise LeaveError("run the same command to go on; back takes answers back, one by one") from error
            context.forget()
            continue
        finally:
            reader.finish()
        if not found.outliers or context.known("outliers") == "keep":
            return replace(estimate, fit=found)
        odd = [found.readings[i] for i in found.outliers]
        for i, one in zip(found.outliers, odd):
            value = readings.position(one.value, one.sensor.unit == "m", ".1f")
            told = f"the {one.sensor.kind} of {one.sensor.link}, {value}, is {abs(found.residuals[i]):.0f} standard deviations"
            context.tell(f"{told} from what all others say", "warning")
        words = {"again": "go there and read again", "keep": "they are right"}
        if context.choose("outliers", "These look misread.", words, keep=False) == "keep":
            context.note("outliers", "keep", "keep")
        for one in odd:
            if context.known("outliers") != "keep":
                context.forget(f"{_key(one.pulses_us, Weight(one.weight, one.weight_point), one.side)}.")


def _weights(context: StepContext, estimate: ArmEstimate) -> list[Weight]:
    """What a person hangs on, weighed: about as heavy as this arm bears."""
    servos, found = calibrated_servos(estimate.servos, estimate.angles), [Weight()]
    for number, one in enumerate(bearable_weights(DroopModel(estimate.description, servos, estimate.loaded, {}))):

        def about(text: str, one: Weight = one) -> float:
            value = readings.mass("weight", text)
            why = f"the weight is {1e3 * value:g} g, must be about {1e3 * one.mass:.0f}: the poses are for that"
            refuse_if(not 0.5 < value / one.mass < 1.25, why, "weight", value, one.mass)
            return value

        if one.mass:
            text = (
                f"You need about {1e3 * one.mass:.0f} g to hang {one.where}. What do yours weigh, hook and string included [g]?"
            )
            found.append(Weight(context.read(f"weight.{number}", text, about, about=("weight", one.mass)), one.point))
    return found


class StationReader:
    """Bench of ``procedure.droop_fit``: goes to stations, has weights hung on, asks for the readings that are not on file."""

    def __init__(self, context: StepContext, estimate: ArmEstimate):
        self.context, self.estimate, self.supply = context, estimate, 1.0
        self._sure = False

    def keep(self, stage: str, stations: list[Station]) -> list[Station]:
        """The stations of a stage as first chosen: what is read again at one of them changes no other.  They are drawn."""
        known = self.context.once(
            f"stations.{stage}", lambda: [[one.pulses_us.tolist(), one.weight.mass, list(one.weight.point)] for one in stations]
        )
        seen = sensors(self.estimate.description, self.estimate.loaded)
        kept = [Station(np.array(pulses), Weight(mass, tuple(point)), seen) for pulses, mass, point, *_ in known]
        path = self.context.folder / f"poses_{stage}.png"
        if self.context.person is not None and not path.exists():
            panels = [
                (f"station {number}, {1e3 * one.weight.mass:.0f} g", self.estimate.servos.to_angle(one.pulses_us), seen)
                for number, one in enumerate(kept, start=1)
            ]
            pose_figure.draw(self.estimate.description, panels, path)
            self.context.tell(f"the poses, and what is read at each: {path}", "hint")
        return kept

    def read_station(
        self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]
    ) -> list[float] | None:
        """Readings at a station [rad or m], all of one coming; None: it is left out.

        Raises:
            LeaveError: the person goes on another time.
        """
        context, key = self.context, _key(station.pulses_us, station.weight, side)
        keys = [f"{key}.{sensor.kind}.{sensor.link}" for sensor in station.sensors]
        while context.known(f"{key}.skip") is None and any(context.known(one) is None for one in keys):
            context.forget(f"{key}.")
            self._go(validator, station, side, columns)
            word = self._read(keys, station, validator, side)
            if word == "skip":
                context.note(f"{key}.skip", True, "skip")
            elif word == "leave":
                raise LeaveError("the arm holds; run the same command to go on with this station")
        self.supply = context.known(f"{key}.supply") or 1.0
        return None if context.known(f"{key}.skip") else [context.known(one) for one in keys]

    def finish(self) -> None:
        """Finish the stations: no weight is left hanging."""
        if self.context.person is not None and self._hanging().mass:
            self._take_off()

    def _go(self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> None:
        """Come to a station from one side, with its weight on, and let the arm come to rest."""
        context, mover, servos = self.context, self.context.arm(self.estimate), validator.limits.servo_map
        there, weight, hanging = servos.to_angle(station.pulses_us), station.weight, self._hanging()
        away = stand_off(servos, there, side, columns)
        below = lifts(self.estimate.description, there, there - away)
        hung = f", with {1e3 * weight.mass:.0f} g" if weight.mass else ""
        context.tell(f"the arm moves, and comes to the pose from {'below' if below else 'above'}{hung}", "hint")
        try:
            if hanging.mass and hanging != weight:
                self._take_off()
            mover.travel(validator, away, self._hanging())
        except (InfeasibleError, LimitError):  # not with the weight on
            if not self._hanging().mass:
                raise
            self._take_off()
            mover.travel(validator, away)
        if weight.mass and not self._hanging().mass:
            text = f"Hang {1e3 * weight.mass:.0f} g {weight.where}, gently, until the arm bears it. Are hands away again?"
            context.wait_for("hang", text, ("hang", weight.mass, weight.point))
            context.note("hanging", [weight.mass, list(weight.point)], fact=True)
        mover.line(with_weight(validator, weight), there, COMING_SPEED)
        with context.busy("coming to rest"):
            mover.outputs.wait(context.settle_s)
        if servos.measures_supply and mover.outputs.supply_mv:  # springs are proportional to it
            share = checked_source(1e-3 * mover.outputs.supply_mv / servos.supply_v)
            context.note(f"{_key(station.pulses_us, weight, side)}.supply", share)

    def _read(self, keys: Sequence[str], station: Station, validator: MotionValidator, side: float) -> str:
        """Ask for the readings at a station; the word that was typed instead, or ''."""
        arm, weighted = self.estimate.description, with_weight(validator, station.weight)
        poses = link_poses(arm, resting_at(weighted, validator.limits.servo_map.to_angle(station.pulses_us), side))
        words = {"repeat": "come to this pose again", "skip": "leave it out", "leave": "go on another time"}
        for key, sensor in zip(keys, station.sensors):
            within, most = TOLERANCE[sensor.unit], IMPOSSIBLE[sensor.unit]
            value = self.context.read_sensor(key, arm, sensor, float(sensor.of(poses)), within, most, words=words)
            if isinstance(value, str):
                return value
        return ""

    def _hanging(self) -> Weight:
        """What hangs on the arm; asked once, for what hung when the session was left may not hang any more."""
        known = self.context.known("hanging")
        weight = Weight(float(known[0]), tuple(map(float, known[1]))) if known else Weight()
        if not self._sure and weight.mass:
            text, words = f"Do {1e3 * weight.mass:.0f} g still hang {weight.where}?", {"": "or yes: they do", "no": "taken off"}
            if self.context.choose("still", text, words, keep=False) == "no":
                weight = self._none_hangs()
        self._sure = True
        return weight

    def _take_off(self) -> None:
        weight = self._hanging()
        text = f"Take the {1e3 * weight.mass:.0f} g off, gently. Are hands away again?"
        self.context.wait_for("take", text, ("hang", 0.0, weight.point))
        self._none_hangs()

    def _none_hangs(self) -> Weight:
        self.context.note("hanging", [0.0, [0.0, 0.0, 0.0]], fact=True)
        return Weight()


def _key(pulses, weight: Weight, side: float) -> str:
    """The name of a visit in the session: what is looked at, not when."""
    where = "/".join(f"{pulse:.0f}" for pulse in pulses)
    hung = f"+{1e3 * weight.mass:.0f}g{math.hypot(*weight.point):+.2f}" if weight.mass else ""
    return f"{'+' if side > 0 else '-'}@{where}{hung}#1"
