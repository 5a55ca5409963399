"""How far the arm sags at the stations that tell most, bare and with weights: ``walk.droop_fit`` with a person's readings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, InputError, LimitError
from picker_dynamics.execution.feasibility import Gate
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses

from .. import readings
from ..belief import Belief
from ..droop import DroopFit, Sight, fit
from ..droop_quality import better_station, open_figures, saturated
from ..joint_map import resting_at
from ..mass_properties import LENGTH_MAX
from ..mover import with_weight
from ..person import OpenQuestionError
from ..poses import LOADED_HOLD_SHARE, LOADED_PEAK_SHARE, WEIGHTS, Station, Weight, cautious_gate, stand_off
from ..walk import droop_fit, visit
from ..workplace import LeaveError, Workplace
from ..write_back import calibrated_servos, figures_from

NAME, TITLE, MINUTES = "droop", "how far the arm sags, bare and with weights", 45
TOLERANCE = {"elevation": math.radians(12.0), "height": 0.08}
"""A reading further from what is expected is doubted [rad, m]."""

IMPOSSIBLE = {"elevation": math.radians(38.0), "height": 0.24}
"""And one this far is refused: no servo explains it."""

NONE, MORE = Weight(), 5


def walk(work: Workplace, belief: Belief) -> Belief:
    """Readings at all stations, and the fit."""
    guide = work.guide(NAME)
    guide.explain(
        "The arm goes to a few poses, from above and from below, and you read how its links stand: inclinometer along "
        "the "
        "link, 0 when level, positive when the far end is up. First bare, then with weights, which you hang on gently and "
        "hold until the arm bears them. An arm let go of a weight swings with twice its torque."
    )
    if not belief.links:
        guide.tell(
            "No link was measured: the URDF's masses count as exact, and their errors go into the stiffness. The step "
            "links comes first, if it can.",
            "warning",
        )
    weights = [_weight(guide, number, one) for number, one in enumerate(WEIGHTS)]
    while True:
        looker = Looker(work, belief)
        try:
            found = _fitted(work, belief, looker, weights)
        except (OpenQuestionError, LimitError):
            raise
        except InputError as error:
            _anew(work, looker, error)
            continue
        looker.finish()
        if not found.outliers or guide.known("outliers") == "keep":
            return replace(belief, fit=found)
        if not _reread(work, found, looker):
            guide.note("outliers", "keep", "keep")
            return replace(belief, fit=found)


def _fitted(work: Workplace, belief: Belief, looker: Looker, weights: Sequence[Weight]) -> DroopFit:
    """All stations, and more of them while figures are left open and the person is willing."""
    guide = work.guide(NAME)

    def tell(text: str) -> None:
        guide.tell(text, "hint")

    found = droop_fit(
        belief.description,
        belief.servos,
        belief.links,
        belief.angles,
        looker,
        weights,
        seed=work.seed,
        tell=tell,
        keep=looker.keep,
    )
    servos = calibrated_servos(belief.servos, figures_from(found, belief.angles))
    for one in saturated(found.model, found.unknowns, found.readings):
        guide.tell(
            f"{one.joint} may have borne {one.torque:.2f} N·m at a visit, more than {one.limit:.2f}: it is no spring there.",
            "warning",
        )
    gate = cautious_gate(RigidBody(belief.description), servos, LOADED_HOLD_SHARE, LOADED_PEAK_SHARE)
    for number in range(MORE):
        still = open_figures(found)
        if not still:
            break
        guide.tell("; ".join(f"{one.joint}: the readings leave its {one.figure} open" for one in still), "warning")
        if (
            guide.choose(
                f"more.{number}", "One more pose would tell most about that.", (("", "go there"), ("enough", "leave it as it is"))
            )
            == "enough"
        ):
            break
        station = better_station(found, gate, weights, tuple({one.sight: None for one in found.readings}), work.seed + number)
        readings = visit(looker.keep(f"more.{number}", [station]), gate, looker, found.model, found.readings, tell)
        found = fit(found.model, readings)
    return found


def _anew(work: Workplace, looker: Looker, error: InputError) -> None:
    """Readings that fit no arm: read again, or another time."""
    if work.person is None:
        raise error
    guide = work.guide(NAME)
    guide.tell(str(error), "warning")
    answer = guide.choose(
        "misfit",
        "These readings cannot be fitted.",
        (("again", "all poses once more"), ("leave", "end here; what was answered is kept")),
        keep=False,
    )
    looker.finish()
    if answer == "leave":
        raise LeaveError("run the same command to go on; back takes answers back, one by one")
    work.session.forget(NAME)


def _weight(guide, number: int, one: Weight) -> Weight:
    """What a person really hangs on: about as heavy, weighed."""
    if not one.mass:
        return one

    def about(text: str) -> float:
        value = readings.mass("weight", text)
        if not 0.5 < value / one.mass < 1.25:
            raise InputError(
                f"the weight is {1e3 * value:g} g, must be about {1e3 * one.mass:.0f}: the poses are for that",
                subject="weight",
                value=value,
                limit=one.mass,
            )
        return value

    mass = guide.read(
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
    ahead = 1e3 * weight.point[0]
    if weight.point[1:] == (0.0, 0.0):
        return f"on a stick, {abs(ahead):.0f} mm {'beyond' if ahead > 0.0 else 'before'} the tool point"
    return "at ({:.0f}, {:.0f}, {:.0f}) mm from the tool point".format(*(1e3 * x for x in weight.point))


def _reread(work: Workplace, fit, looker: Looker) -> bool:
    """Readings that do not fit are told; whether they are to be read again."""
    guide, odd = work.guide(NAME), [fit.readings[i] for i in fit.outliers]
    for i, one in zip(fit.outliers, odd):
        guide.tell(
            f"the {one.sight.kind} of {one.sight.link} at visit {one.visit // len({r.sight for r in fit.readings}) + 1}, "
            f"{math.degrees(one.value):.1f} deg, is {abs(fit.residuals[i]):.0f} standard deviations from what all others "
            "say",
            "warning",
        )
    answer = guide.choose(
        "outliers.what", "These look misread.", (("again", "go there and read again"), ("keep", "they are right")), keep=False
    )
    for one in odd if answer == "again" else ():
        looker.forget(one)
    return answer == "again"


class Looker:
    """``walk.Bench`` for the stations: goes there, has the weight hung on, asks for the readings that are not on file."""

    def __init__(self, work: Workplace, belief: Belief):
        self.work, self.belief, self.guide = work, belief, work.guide(NAME)
        self._times: dict[str, int] = {}
        self._keys: dict[tuple, str] = {}
        self._there: str = ""
        self._sure = False

    def look(self, gate: Gate, station: Station, side: float, columns: Sequence[int]) -> list[float] | None:
        """See ``walk.Bench``."""
        key = self._key(station, side)
        if self.guide.known(f"{key}.skip") is not None:
            return None
        self._there = ""
        while True:
            expected = expected_at(self.belief.description, gate, station)
            values = []
            for sight in station.sights:
                name = f"{key}.{sight.kind}.{sight.link}"
                if self.guide.known(name) is None and self._there != key:
                    if not (values and self._stands_at(station)):  # left between two readings: it still holds there
                        self._go(gate, station, side, columns)
                    self._there = key
                value = self._read(name, sight, expected[sight], station)
                if isinstance(value, str):
                    break
                values.append(value)
            else:
                return values
            self._there = ""
            self.work.session.forget(NAME, f"{key}.")
            if value == "leave":
                self.finish()
                raise LeaveError("the arm holds; run the same command to go on with this station")
            if value == "skip":
                self.guide.note(f"{key}.skip", True, "skip")
                return None

    def keep(self, stage: str, stations: list[Station]) -> list[Station]:
        """The stations of a stage as first chosen: what is read again at one of them changes no other."""
        known = self.guide.known(f"stations.{stage}")
        if known is None:
            known = [
                [
                    station.pulses_us.tolist(),
                    station.weight.mass,
                    list(station.weight.point),
                    [[sight.kind, sight.link] for sight in station.sights],
                ]
                for station in stations
            ]
            self.guide.note(f"stations.{stage}", known)
        return [
            Station(np.array(pulses), Weight(mass, tuple(point)), tuple(Sight(*sight) for sight in sights))
            for pulses, mass, point, sights in known
        ]

    def forget(self, reading) -> None:
        """The visit of a reading is open again."""
        for sort, key in self._keys.items():
            if sort == _sort(reading.pulses_us, reading.weight, reading.weight_point, reading.side):
                self.work.session.forget(NAME, f"{key}.")

    def finish(self) -> None:
        """No weight is left hanging."""
        if self.work.person is not None:
            self._look_what_hangs()
        if self._hanging.mass and self.work.person is not None:
            self._take_off()

    # -----------------------------------------------------------------------------------------------------------------

    def _key(self, station: Station, side: float) -> str:
        """The name of a visit in the session: what is looked at, not when."""
        sort = _sort(station.pulses_us, station.weight.mass, station.weight.point, side)
        key = "{}@{}{}".format(
            "+" if side > 0 else "-",
            "/".join(f"{pulse:.0f}" for pulse in station.pulses_us),
            f"+{1e3 * station.weight.mass:.0f}g{station.weight.point[0]:+.2f}" if station.weight.mass else "",
        )
        self._times[key] = self._times.get(key, 0) + 1
        key = f"{key}#{self._times[key]}"
        self._keys[sort] = key
        return key

    def _stands_at(self, station: Station) -> bool:
        """Whether the arm holds at a station, with its weight on."""
        pulses = self.work.arm(self.belief).outputs.pulses_us
        self._look_what_hangs()
        return bool(np.abs(pulses - station.pulses_us).max() < 0.5) and self._hanging == station.weight

    def _go(self, gate: Gate, station: Station, side: float, columns: Sequence[int]) -> None:
        mover, away = self.work.arm(self.belief), stand_off(gate, station, side, columns)
        self.guide.tell(f"the arm moves, and comes to the pose from {'below' if side > 0.0 else 'above'}", "hint")
        self._look_what_hangs()
        if self._hanging.mass and self._hanging != station.weight:
            self._take_off()
        if self._hanging.mass:
            try:
                mover.travel(gate, away, self._hanging)
            except (InfeasibleError, LimitError):  # not with the weight on
                self._take_off()
        mover.travel(gate, away, self._hanging)
        if station.weight.mass and not self._hanging.mass:
            mass, point = station.weight.mass, station.weight.point
            self.guide.wait_for(
                "hang",
                f"Hang {1e3 * mass:.0f} g {where(station.weight)}, gently, until the arm bears it. Hands away, then Enter.",
                about=(mass, point),
            )
            self.guide.note("hanging", [station.weight.mass, list(station.weight.point)], fact=True)
        mover.line(with_weight(gate, station.weight), gate.servo_map.to_angle(station.pulses_us), COMING_SPEED)
        with self.guide.busy("coming to rest"):
            mover.outputs.wait(self.work.settle_s)

    def _read(self, name: str, sight: Sight, expected: float, station: Station) -> float | str:
        words = (("repeat", "come to this pose again"), ("skip", "leave it out"), ("leave", "go on another time"))
        if sight.kind == "height":
            return self.guide.read(
                name,
                f"Height of {sight.link}'s axis above the mounting plane, with a ruler [mm]?",
                lambda text: _possible(sight, readings.length(f"height of {sight.link}", text, LENGTH_MAX), expected),
                words=words,
                about=(sight,),
                doubt=lambda value: _odd_height(sight, value, expected),
            )
        doubt_within, refuse_beyond = TOLERANCE[sight.kind], IMPOSSIBLE[sight.kind]

        def parse(text: str) -> float:
            value = readings.angle(sight.link, text)
            why = readings.near(sight.link, value, expected, refuse_beyond)
            if why:
                raise InputError(why, subject=sight.link, value=value, limit=refuse_beyond)
            return value

        return self.guide.read(
            name,
            f"Inclinometer along {sight.link} [deg]?",
            parse,
            words=words,
            about=(sight,),
            doubt=lambda value: readings.near(sight.link, value, expected, doubt_within),
        )

    @property
    def _hanging(self) -> Weight:
        known = self.guide.known("hanging")
        return Weight(float(known[0]), tuple(map(float, known[1]))) if known else NONE

    def _look_what_hangs(self) -> None:
        """What hung when the session was left may not hang any more."""
        if (
            not self._sure
            and self._hanging.mass
            and self.guide.choose(
                "still",
                f"Do {1e3 * self._hanging.mass:.0f} g still hang {where(self._hanging)}?",
                (("yes", "they do"), ("no", "taken off")),
                keep=False,
            )
            == "no"
        ):
            self.guide.note("hanging", [0.0, [0.0, 0.0, 0.0]], fact=True)
        self._sure = True

    def _take_off(self) -> None:
        weight = self._hanging
        self.guide.wait_for(
            "take", f"Take the {1e3 * weight.mass:.0f} g off, gently. Hands away, then Enter.", about=(0.0, weight.point)
        )
        self.guide.note("hanging", [0.0, [0.0, 0.0, 0.0]], fact=True)


COMING_SPEED = 0.1
"""At which a station is come to [rad/s]: three times slower than jogging."""


def expected_at(description: ArmDescription, gate: Gate, station: Station) -> dict[Sight, float]:
    """What should be read at a station [rad or m], by what is believed now."""
    loaded = with_weight(gate, station.weight)
    poses = link_poses(description, resting_at(loaded, gate.servo_map.to_angle(station.pulses_us)))
    return {sight: float(sight.of(poses)) for sight in station.sights}


def _possible(sight: Sight, value: float, expected: float) -> float:
    if abs(value - expected) > IMPOSSIBLE["height"]:
        raise InputError(
            f"height of {sight.link} is {1e3 * value:.0f} mm, expected about {1e3 * expected:.0f}: cm for mm, or "
            "from another plane?",
            subject=sight.link,
            value=value,
            limit=IMPOSSIBLE["height"],
        )
    return value


def _odd_height(sight: Sight, value: float, expected: float) -> str:
    if abs(value - expected) <= TOLERANCE["height"]:
        return ""
    return f"height of {sight.link} is {1e3 * value:.0f} mm, expected about {1e3 * expected:.0f}."


def _sort(pulses, mass: float, point, side: float) -> tuple:
    return tuple(np.round(pulses, 2).tolist()), round(float(mass), 6), tuple(map(float, point)), float(side)
