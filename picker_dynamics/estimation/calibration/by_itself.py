"""Calibration without a person: an arm goes from station to station by its own controller, and is looked at from both sides.

What looks, its own servos (``measured``) or a camera (``seen``), is a ``Looker``; the fit is that of droops (``droop_fit``), the
way that of every goal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from picker_dynamics.controller.parameters import CONTROLLER, DYNAMICS
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import GoalAbortedError, GoalRefusedError, InputError, PictureError, refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.servo_arm import gripper_of
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.session.local import LocalSession

from . import poses
from .arm_estimate import ArmEstimate, LinkProperties
from .droop_fit import DroopFit, fit
from .droop_model import BODY, DroopModel, Reading, Weight
from .instruments import LEAST_KG, Sensor, lay
from .poses import CANDIDATES, SIDES, Station
from .questions import Context
from .readings import Measured

TRAVEL_SPEED, COMING_SPEED, LAST, LAST_S = 0.6, 0.15, 0.03, 2.0
"""Mean speed at which joints go to where they come from, and to a station [rad/s]; the last bit of the way [rad], and how long it
takes [s]: where an arm comes to rest faster its inertia carries joints beyond the friction's edge, by 4 mrad from 0.12 rad/s."""

LOOK_S = 0.05
"""How often the arm is looked at while it moves [s]."""

LEAST_READ, ROUNDS, MOST_ODD = 0.5, 3, 0.2
"""Share of a stage's visits that have to tell something; how often visits are left out that do not go with the others, and the
share of them that may be."""

DRAWN = 10_000
"""Poses among which stations are looked for, at the most."""

ABOVE_FLOOR_M = 0.06
"""Of the tool at a station, beside what an arm that stands needs: it sags [m]."""


def sought(arm: ArmDescription, servos: ServoMap) -> DroopModel:
    """The model of all that such an arm tells: of every joint but the gripper's, and of the bodies that any of them bears."""
    q, grips = sample_poses(arm, 64), gripper_of(arm, servos)
    by_pi = RigidBody(arm).regressor(q, 0.0 * q, 0.0 * q).reshape(len(q), arm.n, arm.n, -1)
    borne = np.abs(by_pi[..., :4]).max(axis=(0, 1, 3)) > 1e-6
    bodies = (joint.child for joint, one in zip(arm.movable, borne) if one and arm.links[joint.child].mass >= LEAST_KG)
    return DroopModel(arm, servos, tuple(name for j, name in enumerate(arm.joint_names) if j != grips), tuple(bodies))


class Looker(ABC):
    """Takes an arm to stations by its own controller, and looks at it there.

    Args:
        session: of an arm that is enabled, and not compensated.
        model: of what is looked at.

    Attributes:
        seen: what reads at each station.
        supply_sd: how well the supply is known, as a share.
    """

    seen: tuple[Sensor, ...]
    supply_sd = 0.0

    def __init__(self, session: LocalSession, model: DroopModel):
        servos = session.arm.servos
        assert servos is not None
        self.session, self.model, self.arm, self.servos = session, model, session.arm.description, servos
        trust(session)

    @abstractmethod
    def stages(self, weight_kg: float) -> list[tuple[str, float, int]]:
        """Name, mass that hangs on [kg], and number of stations, of each stage."""

    @abstractmethod
    def stand(self) -> None:
        """Wait until the arm stands."""

    @abstractmethod
    def read(self, there: np.ndarray, side: float) -> dict[str, Any]:
        """Come to ``there`` (n,) [rad] from one side, and look.  Raises a PickerError where it does not get there."""

    @abstractmethod
    def readings(self, station: Station, side: float, seen: Mapping[str, Any], visit: int) -> list[Reading]:
        """Readings of a visit."""

    @abstractmethod
    def remarks(self, found: DroopFit, weight_kg: float) -> Iterator[str]:
        """What the readings leave open, for a person."""

    @abstractmethod
    def watch(self) -> None:
        """Look at the arm while it moves."""

    def visible(self, q: np.ndarray, found: DroopFit | None) -> bool:
        """Whether the arm can be looked at, at ``q`` (n,) [rad]."""
        return True

    @property
    def moved(self) -> list[int]:
        """Joints that differ from station to station."""
        return self.model.columns

    def validator(self, shares: tuple[float, float]) -> MotionValidator:
        """The running arm's validator; of stall torque motions take ``shares``, where they end and along them."""
        further = self.session.arm.controller.execution.limits.further
        wary = poses.cautious_validator(self.session.arm.model, self.servos, *shares)
        return replace(wary, description=self.arm, further=further)

    def leave(self, there: np.ndarray, side: float) -> np.ndarray:
        """Go to where ``there`` (n,) [rad] is come to from on one side, and stand there."""
        away = poses.stand_off(self.servos, there, side, self.model.columns)
        self.travel(away)
        self.stand()
        return away

    def come(self, there: np.ndarray, away: np.ndarray) -> None:
        """Come to ``there`` from ``away`` (n,) [rad], and stand there."""
        self._go(there + LAST / poses.turn_off(self.servos) * (away - there), COMING_SPEED)
        self._go(there, LAST / LAST_S)
        self.stand()

    def travel(self, q: np.ndarray) -> None:
        """Go to ``q`` (n,) [rad], by way of home where there is no straight one."""
        try:
            self._go(q, TRAVEL_SPEED)
        except GoalAbortedError:
            raise
        except GoalRefusedError:
            self._go(np.array(self.servos.home), TRAVEL_SPEED)
            self._go(q, TRAVEL_SPEED)

    def _go(self, q: np.ndarray, speed: float) -> None:
        session = self.session
        way = float(np.abs(q - session.reference()).max())
        if way < 1e-6:
            return
        goal, _ = session.begin(session.message(max(way / speed, 0.5), q))
        with session.cancelling():
            while not session.ended(goal):
                session.spin(LOOK_S)
                self.watch()


def trust(session: LocalSession) -> None:
    """Let goals end where joints are far from where they should be: their figures are not known yet."""
    session.set(CONTROLLER, {f"constraints.{name}.goal": 0.0 for name in session.arm.description.joint_names})


def run(context: Context, estimate: ArmEstimate, looker: Looker, weight_kg: float = 0.0) -> ArmEstimate:
    """Look at all stations that are not on file, bare ones first, and fit what was read.

    Args:
        weight_kg: that a person hangs on the tool point once; 0: none.

    Raises:
        LeaveError: the person said no.
        PickerError: as ``Looker.read``; what was read is on file, and the same again goes on there.
    """
    session, begin_s = looker.session, looker.session.now_s
    session.set(CONTROLLER, {"approach": "off"})  # goals stay where a station has them
    found = looked_at(context, looker, weight_kg)
    context.tell(f"{len(found.readings)} readings in {session.now_s - begin_s:.0f} s", "hint")
    with suppress(GoalRefusedError):  # it holds where it is, as well
        looker.travel(np.array(estimate.servos.home))
    context.take_off()
    session.set(DYNAMICS, {"payload.mass": 0.0})
    for text in looker.remarks(found, weight_kg):
        context.tell(text, "hint")
    return estimated(estimate, found, context.when)


def looked_at(context: Context, looker: Looker, weight_kg: float) -> DroopFit:
    """The fit of all stations; arguments and errors as of ``run``."""
    readings, found = list[Reading](), None
    for stage, mass, count in looker.stages(weight_kg):
        weight, shares = Weight(mass), (poses.HOLD_SHARE, poses.PEAK_SHARE)
        if mass:
            shares = poses.LOADED_HOLD_SHARE, poses.LOADED_PEAK_SHARE
        if (kept := context.known(f"stations.{stage}")) is None:
            context.tell(f"choosing {count} stations", "hint")
            try:
                chosen = stations(looker, shares, weight, count, context.seed, found)
            except InputError as error:
                if not mass:
                    raise
                why = f"{1e3 * mass:.0f} g are more than the arm bears where it can be looked at ({error})"
                context.tell(f"{why}: they are left out. Half as much may do, with --restart.", "warning")
                chosen = []
            kept = context.note(f"stations.{stage}", [one.pulses_us.tolist() for one in chosen])
        if not kept:
            continue
        visits, told = list(product(enumerate(kept, 1), SIDES)), 0
        open_ = [f"{stage}.{number}.{side:+.0f}" for (number, _), side in visits]
        if mass and any(context.known(key) is None for key in open_):
            where = f"at the tool point, {looker.arm.tool}"
            context.agree("hang", f"Hang {1e3 * mass:.0f} g {where}. Are hands away again?", "the arm holds")
            context.session.record("arm", "hanging", [mass, *weight.point])
            looker.session.set(DYNAMICS, {"payload.mass": mass})
        for (number, pulses), side in visits:
            key, station = f"{stage}.{number}.{side:+.0f}", Station(np.array(pulses), weight, looker.seen)
            if (seen := context.known(key)) is None:
                context.tell(f"{stage} station {number} of {len(kept)}, from {'below' if side > 0 else 'above'}", "hint")
                try:
                    seen = looker.read(looker.servos.to_angle(station.pulses_us), side)
                except GoalAbortedError:
                    raise
                except (GoalRefusedError, PictureError) as error:
                    context.tell(f"left out: {error}", "warning")
                    seen = {}
                context.note(key, seen)
            before = len(readings)
            if seen:
                readings += looker.readings(station, side, seen, before)
            told += len(readings) > before
        why = f"{stage}: {told} of {len(visits)} visits tell of the arm, must be {LEAST_READ:.0%}: what hides it?"
        refuse_if(told < LEAST_READ * len(visits), why, stage, told, len(visits))
        found = fitted(looker, readings, context.tell)
    assert found is not None
    return found


def fitted(looker: Looker, readings: Sequence[Reading], tell: Callable[[str, str], object]) -> DroopFit:
    """The fit without visits that do not go with all others."""
    found = fit(looker.model, readings, looker.supply_sd)
    for _ in range(ROUNDS):
        odd = {found.readings[i].visit for i in found.outliers}
        if not odd or len(odd) > MOST_ODD * len({one.visit for one in found.readings}):
            break
        tell(f"{len(odd)} visits do not go with what all others say, and are left out: was something touched?", "warning")
        found = fit(looker.model, [one for one in found.readings if one.visit not in odd], looker.supply_sd)
    return found


def stations(
    looker: Looker, shares: tuple[float, float], weight: Weight, count: int, seed: int, first: DroopFit | None = None
) -> list[Station]:
    """The stations that tell most, in an order in which the ways are short."""
    arm, servos, found, validator = looker.arm, looker.servos, list[Station](), looker.validator(shares)
    loaded, least = poses.with_weight(validator, weight), poses.least_height(arm, servos) + ABOVE_FLOOR_M
    for q in poses.drawn(arm, servos, looker.moved, np.random.default_rng(seed), DRAWN):
        pulses = servos.quantise_us(servos.to_pulse_us(q))
        there = servos.to_angle(pulses)
        seen = looker.visible(there, first) and validator.model.forward_kinematics(there)[2] > least
        if seen and poses.passes(loaded, there):
            found.append(Station(pulses, weight, looker.seen))
        if len(found) == CANDIDATES:
            break
    left, ordered, at = poses.choose(looker.model, validator, found, count, first), list[Station](), np.array(servos.home)
    while left:
        away = [float(np.abs(servos.to_angle(one.pulses_us) - at).max()) for one in left]
        ordered.append(left.pop(int(np.argmin(away))))
        at = servos.to_angle(ordered[-1].pulses_us)
    return ordered


def estimated(estimate: ArmEstimate, found: DroopFit, when: str) -> ArmEstimate:
    """The arm as a fit tells it, bodies too."""
    was, model, links = estimate.description.links, found.model, {}
    arm = model.arm_of(found.unknowns, f"found by picker calibrate {when}")
    for name in model.bodies:
        link, along, heavier = arm.links[name], lay(arm, name), found.figure(name, "mass")
        place = model.names.index(f"{name}.{BODY[1]}")
        spread = along.ahead @ found.covariance[place : place + 3, place : place + 3] @ along.ahead
        centre = Measured(along.distance(link.com), float(np.sqrt(spread)) * was[name].mass / link.mass)
        links[name] = LinkProperties(Measured(link.mass, heavier.sd * was[name].mass), centre)
    return replace(estimate, description=arm, links=links, fit=found)
