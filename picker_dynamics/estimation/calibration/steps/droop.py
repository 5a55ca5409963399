"""Droop step: a person reads how far the arm sags at the stations that tell most (``procedure.droop_fit``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.control.supply_follow import checked_source
from picker_dynamics.errors import InfeasibleError, InputError, LimitError, refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.units import LENGTH, quantity

from .. import pose_figure, readings
from ..arm_estimate import ArmEstimate
from ..droop_fit import DroopFit
from ..droop_model import DroopModel
from ..evaluate import open_figures, saturated
from ..instruments import SensorModel, lay, sensor_on
from ..joint_map import resting_at
from ..person import OpenQuestionError
from ..poses import Station, Weight, bearable_weights, stand_off, with_weight
from ..procedure import droop_fit
from ..servo_figures import calibrated_servos
from ..statics import lifts
from ..step_context import LeaveError, StepContext

NAME, TITLE, MINUTES = "droop", "how far the arm sags, bare and with weights", 30
TOLERANCE = {"elevation": math.radians(12.0), "height": 0.08}
"""A reading further from what is expected is doubted [rad, m]."""

IMPOSSIBLE = {"elevation": math.radians(38.0), "height": 0.24}
"""And one this far is refused: no servo explains it."""

NONE = Weight()


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Readings at all stations, and the fit."""
    if not estimate.loaded:
        context.tell(
            "No joint bears weight and turns about a level axis, and none slides that bears a tenth of what its servo can: no "
            "droop can be read here. Stiffness and friction stay the servo map's; nothing of them is measured.",
            "warning",
        )
        return estimate
    context.explain(
        "The arm goes to a few poses, from above and from below, and you read how its links stand: inclinometer along the link, "
        "0 when level, positive when the far end is up; of one that slides, how high it is, with a ruler."
        + (
            ""
            if context.quick
            else " First bare, then with weights, which you hang on gently and hold until the arm bears them. "
            "An arm let go of a weight swings with twice its torque."
        )
    )
    if not (estimate.links or context.quick):
        context.tell(
            "No link was measured: the URDF's masses count as exact, and their errors go into the stiffness. The step "
            "links comes first, if it can.",
            "warning",
        )
    weights = [NONE] if context.quick else _weights(context, estimate)
    while True:
        reader = StationReader(context, estimate)
        try:
            found = _fitted(context, estimate, reader, weights)
        except (OpenQuestionError, LimitError):
            raise
        except InputError as error:
            _anew(context, reader, error)
            continue
        reader.finish()
        if not found.outliers or context.known("outliers") == "keep":
            return replace(estimate, fit=found)
        if not _reread(context, found, reader):
            context.note("outliers", "keep", "keep")
            return replace(estimate, fit=found)


def _fitted(context: StepContext, estimate: ArmEstimate, reader: StationReader, weights: Sequence[Weight]) -> DroopFit:
    """All stations; what they leave open is told."""
    found = droop_fit(
        estimate.description,
        estimate.servos,
        estimate.links,
        estimate.angles,
        reader,
        weights,
        seed=context.seed,
        tell=lambda text: context.tell(text, "hint"),
        keep=reader.keep,
        quick=context.quick,
    )
    units = dict(zip(found.model.description.joint_names, found.model.description.effort_units))
    for (_, joint), (torque, limit) in saturated(found.model, found.unknowns, found.readings).items():
        context.tell(
            f"{joint} may have borne {torque:.2f} {units[joint]} at a visit, more than {limit:.2f}: it is no spring there.",
            "warning",
        )
    for joint, figure in () if context.quick else open_figures(found):
        context.tell(f"{joint}: the readings leave its {figure} open", "warning")
    return found


def _anew(context: StepContext, reader: StationReader, error: InputError) -> None:
    """Readings that fit no arm: read again, or another time."""
    if context.person is None:
        raise error
    context.tell(str(error), "warning")
    answer = context.choose(
        "misfit",
        "These readings cannot be fitted.",
        (("again", "all poses once more"), ("leave", "end here; what was answered is kept")),
        keep=False,
    )
    reader.finish()
    if answer == "leave":
        raise LeaveError("run the same command to go on; back takes answers back, one by one")
    context.forget()


def _weights(context: StepContext, estimate: ArmEstimate) -> list[Weight]:
    """What is hung on: as heavy as this arm bears."""
    servos = calibrated_servos(estimate.servos, estimate.angles)
    wanted = bearable_weights(DroopModel(estimate.description, servos, estimate.loaded, {}))
    if len(wanted) == 1:
        context.tell("The servos bear no weight besides the arm's own: the droop is read of the bare arm alone.", "warning")
    return [_weight(context, number, one) for number, one in enumerate(wanted)]


def _weight(context: StepContext, number: int, one: Weight) -> Weight:
    """What a person really hangs on: about as heavy, weighed."""
    if not one.mass:
        return one

    def about(text: str) -> float:
        value = readings.mass("weight", text)
        refuse_if(
            not 0.5 < value / one.mass < 1.25,
            f"the weight is {1e3 * value:g} g, must be about {1e3 * one.mass:.0f}: the poses are for that",
            "weight",
            value,
            one.mass,
        )
        return value

    mass = context.read(
        f"weight.{number}",
        f"You need about {1e3 * one.mass:.0f} g to hang {where(one)}. What do yours weigh, hook and string included [g]?",
        about,
        about=(one.mass,),
    )
    return Weight(mass, one.point)


def where(weight: Weight) -> str:
    """A weight's place for a person."""
    if not any(weight.point):
        return "at the tool point"
    return f"on a stick, {1e3 * math.hypot(*weight.point):.0f} mm beyond the tool point"


def _hung(station: Station) -> str:
    return f", {1e3 * station.weight.mass:.0f} g" if station.weight.mass else ""


def _reread(context: StepContext, fit, reader: StationReader) -> bool:
    """Readings that do not fit are told; whether they are to be read again."""
    odd = [fit.readings[i] for i in fit.outliers]
    for i, one in zip(fit.outliers, odd):
        context.tell(
            f"the {one.sensor.kind} of {one.sensor.link} at visit {one.visit // len({r.sensor for r in fit.readings}) + 1}, "
            f"{readings.position(one.value, one.sensor.kind == 'height', '.1f')}, is {abs(fit.residuals[i]):.0f} standard "
            "deviations from what all others say",
            "warning",
        )
    answer = context.choose(
        "outliers.what", "These look misread.", (("again", "go there and read again"), ("keep", "they are right")), keep=False
    )
    for one in odd if answer == "again" else ():
        reader.forget(one)
    return answer == "again"


class StationReader:
    """``procedure.Bench`` for the stations: goes there, has the weight hung on, asks for the readings that are not on file."""

    def __init__(self, context: StepContext, estimate: ArmEstimate):
        self.context, self.estimate = context.of(NAME), estimate
        self._there: str = ""
        self._sure = False
        self.supply = 1.0

    def read_station(
        self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]
    ) -> list[float] | None:
        """Readings at a station, as ``procedure.Bench`` has them."""
        key = _key(station.pulses_us, station.weight.mass, station.weight.point, side)
        if self.context.known(f"{key}.skip") is not None:
            return None
        self._there = ""
        while True:
            expected = expected_at(self.estimate.description, validator, station, side)
            values = []
            for sensor in station.sensors:
                name = f"{key}.{sensor.kind}.{sensor.link}"
                if self.context.known(name) is None and self._there != key:
                    if not (values and self._stands_at(station)):  # left between two readings: it still holds there
                        self._go(validator, station, side, columns)
                    self._there = key
                    self._note_supply(key)
                value = self._read(name, sensor, expected[sensor])
                if isinstance(value, str):
                    break
                values.append(value)
            else:
                self.supply = self.context.known(f"{key}.supply") or 1.0
                return values
            self._there = ""
            self.context.forget(f"{key}.")
            if value == "leave":
                self.finish()
                raise LeaveError("the arm holds; run the same command to go on with this station")
            if value == "skip":
                self.context.note(f"{key}.skip", True, "skip")
                return None

    def keep(self, stage: str, stations: list[Station]) -> list[Station]:
        """The stations of a stage as first chosen: what is read again at one of them changes no other."""
        known = self.context.known(f"stations.{stage}")
        if known is None:
            known = [
                [
                    station.pulses_us.tolist(),
                    station.weight.mass,
                    list(station.weight.point),
                    [[sensor.kind, sensor.link] for sensor in station.sensors],
                ]
                for station in stations
            ]
            self.context.note(f"stations.{stage}", known)
        kept = [
            Station(
                np.array(pulses),
                Weight(mass, tuple(point)),
                tuple(sensor_on(self.estimate.description, link, kind) for kind, link in sensors),
            )
            for pulses, mass, point, sensors in known
        ]
        self._draw(stage, kept)
        return kept

    def _draw(self, stage: str, stations: list[Station]) -> None:
        """Show a person how the instruments lie at the poses of a stage."""
        path = self.context.folder / f"poses_{stage}.png"
        if self.context.person is not None and not path.exists():
            panels = [
                pose_figure.Panel(f"station {number}{_hung(one)}", self.estimate.servos.to_angle(one.pulses_us), one.sensors)
                for number, one in enumerate(stations, start=1)
            ]
            pose_figure.draw(self.estimate.description, panels, path)
            self.context.tell(f"the poses, and what is read at each: {path}", "hint")

    def forget(self, reading) -> None:
        """Forget a reading: its visit is open again."""
        self.context.forget(f"{_key(reading.pulses_us, reading.weight, reading.weight_point, reading.side)}.")

    def finish(self) -> None:
        """Finish the stations: no weight is left hanging."""
        if self.context.person is not None:
            self._look_what_hangs()
        if self._hanging.mass and self.context.person is not None:
            self._take_off()

    # -----------------------------------------------------------------------------------------------------------------

    def _stands_at(self, station: Station) -> bool:
        """Whether the arm holds at a station, with its weight on."""
        pulses = self.context.arm(self.estimate).outputs.pulses_us
        self._look_what_hangs()
        return bool(np.abs(pulses - station.pulses_us).max() < 0.5) and self._hanging == station.weight

    def _go(self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> None:
        mover, servos = self.context.arm(self.estimate), validator.limits.servo_map
        there = servos.to_angle(station.pulses_us)
        away = stand_off(servos, there, side, columns)
        below = lifts(self.estimate.description, there, there - away)
        self.context.tell(f"the arm moves, and comes to the pose from {'below' if below else 'above'}", "hint")
        self._look_what_hangs()
        if self._hanging.mass and self._hanging != station.weight:
            self._take_off()
        if self._hanging.mass:
            try:
                mover.travel(validator, away, self._hanging)
            except (InfeasibleError, LimitError):  # not with the weight on
                self._take_off()
        mover.travel(validator, away, self._hanging)
        if station.weight.mass and not self._hanging.mass:
            mass, point = station.weight.mass, station.weight.point
            self.context.wait_for(
                "hang",
                f"Hang {1e3 * mass:.0f} g {where(station.weight)}, gently, until the arm bears it. Are hands away again?",
                about=(mass, point),
            )
            self.context.note("hanging", [station.weight.mass, list(station.weight.point)], fact=True)
        mover.line(with_weight(validator, station.weight), there, COMING_SPEED)
        with self.context.busy("coming to rest"):
            mover.outputs.wait(self.context.settle_s)

    def _note_supply(self, key: str) -> None:
        """The share of its nominal voltage that the servos get, where it is measured: their springs are proportional to it."""
        servos, supply_mv = self.estimate.servos, self.context.port().outputs.supply_mv
        if servos.measures_supply and supply_mv:
            self.context.note(f"{key}.supply", checked_source(1e-3 * supply_mv / servos.supply_v))

    def _read(self, name: str, sensor: SensorModel, expected: float) -> float | str:
        tall, link, tool = sensor.kind == "height", sensor.link, self.estimate.description.tool

        def parse(text: str) -> float:
            value = quantity(link, text, LENGTH, "mm") if tall else readings.angle(link, text)
            why, limit = _off(sensor, value, expected, IMPOSSIBLE), IMPOSSIBLE[sensor.kind]
            refuse_if(why, why, link, value, limit)
            return value

        return self.context.read(
            name,
            f"Height of {f'the tool point ({link})' if link == tool else f'the axis of {link}'} above the mounting plane, with a "
            "ruler [mm]?"
            if tall
            else f"Inclinometer on {link}, {lay(self.estimate.description, link).laid} [deg]?",
            parse,
            words=(("repeat", "come to this pose again"), ("skip", "leave it out"), ("leave", "go on another time")),
            about=(sensor,),
            doubt=lambda value: _off(sensor, value, expected, TOLERANCE),
        )

    @property
    def _hanging(self) -> Weight:
        known = self.context.known("hanging")
        return Weight(float(known[0]), tuple(map(float, known[1]))) if known else NONE

    def _look_what_hangs(self) -> None:
        """What hung when the session was left may not hang any more."""
        if (
            not self._sure
            and self._hanging.mass
            and self.context.choose(
                "still",
                f"Do {1e3 * self._hanging.mass:.0f} g still hang {where(self._hanging)}?",
                (("", "or yes: they do"), ("no", "taken off")),
                keep=False,
            )
            == "no"
        ):
            self.context.note("hanging", [0.0, [0.0, 0.0, 0.0]], fact=True)
        self._sure = True

    def _take_off(self) -> None:
        weight = self._hanging
        self.context.wait_for(
            "take", f"Take the {1e3 * weight.mass:.0f} g off, gently. Are hands away again?", about=(0.0, weight.point)
        )
        self.context.note("hanging", [0.0, [0.0, 0.0, 0.0]], fact=True)


COMING_SPEED = 0.1
"""At which a station is come to [rad/s]: three times slower than jogging."""


def expected_at(
    description: ArmDescription, validator: MotionValidator, station: Station, side: float
) -> dict[SensorModel, float]:
    """Readings expected at a station come to from one side [rad or m], by what is believed now."""
    loaded = with_weight(validator, station.weight)
    poses = link_poses(description, resting_at(loaded, validator.limits.servo_map.to_angle(station.pulses_us), side))
    return {sensor: float(sensor.of(poses)) for sensor in station.sensors}


def _off(sensor: SensorModel, value: float, expected: float, within) -> str:
    """Why a reading cannot be right, '' where it is near enough to what is expected."""
    near = readings.near if sensor.kind == "elevation" else readings.near_place
    return near(f"{sensor.kind} of {sensor.link}", value, expected, within[sensor.kind])


def _key(pulses, mass: float, point, side: float) -> str:
    """The name of a visit in the session: what is looked at, not when."""
    where = "/".join(f"{pulse:.0f}" for pulse in pulses)
    return f"{'+' if side > 0 else '-'}@{where}" + (f"+{1e3 * mass:.0f}g{math.hypot(*point):+.2f}" if mass else "") + "#1"
