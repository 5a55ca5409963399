"""Calibration without a person: an arm whose servos measure goes from station to station by itself, and reads where it stands.

Every joint comes to each station from both sides: goal - present is the servo's spring, half of what differs the friction of its
gears, the mean what the joint bears over K.  The fit is that of droops (``droop_model``), the way that of every goal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from picker_dynamics.bus.bus_session import BusSession
from picker_dynamics.bus.dialects import DIALECTS
from picker_dynamics.control.supply_follow import checked_source
from picker_dynamics.controller.parameters import CONTROLLER, DYNAMICS
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import BoardFaultError, ConfigurationError, GoalAbortedError, GoalRefusedError, PickerError
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.servo_arm import gripper_of
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.session.local import LocalSession

from . import poses
from .arm_estimate import ArmEstimate
from .droop_model import BODY, FIGURES, DroopFit, DroopModel, Reading, Weight, fit
from .instruments import LEAST_KG, Encoder, lay
from .mass_properties import LinkProperties
from .poses import CANDIDATES, SIDES, Station
from .questions import Context
from .readings import Measured

BARE, LOADED = 14, 6
"""Stations without and with the known weight; where there is none all of them are bare."""

TRAVEL_SPEED, COMING_SPEED, LAST, LAST_S = 0.6, 0.15, 0.03, 2.0
"""Mean speed at which joints go to where they come from, and to a station [rad/s]; the last bit of the way [rad], and how long it
takes [s]: where an arm comes to rest faster its inertia carries joints beyond the friction's edge, by 4 mrad from 0.12 rad/s."""

LOOK_S, STANDS_S, STANDS, PATIENCE_S, SAMPLES = 0.05, 0.3, 1.5, 4.0, 15
"""How often the arm is looked at; for how long its joints have to keep within so many steps, and how long that is waited for [s];
samples of a reading."""

MOVES, BLOCKED = 0.2, 1.5
"""A joint that makes less of its way does not move; one whose goal is so many times further off than its stall torque turns its
spring, and speed aside, is blocked."""

SUPPLY_SD = 0.004
"""How well servos measure their supply, as a share: a step is a tenth of a volt."""

ABOVE_FLOOR_M = 0.06
"""Of the tool at a station, beside what an arm that stands needs: it sags [m]."""


def sought(arm: ArmDescription, servos: ServoMap) -> DroopModel:
    """The model of all that such an arm tells: of every joint but the gripper's, and of the bodies that any of them bears."""
    q, grips = sample_poses(arm, 64), gripper_of(arm, servos)
    by_pi = RigidBody(arm).regressor(q, 0.0 * q, 0.0 * q).reshape(len(q), arm.n, arm.n, -1)
    borne = np.abs(by_pi[..., :4]).max(axis=(0, 1, 3)) > 1e-6
    bodies = (joint.child for joint, one in zip(arm.movable, borne) if one and arm.links[joint.child].mass >= LEAST_KG)
    return DroopModel(arm, servos, tuple(name for j, name in enumerate(arm.joint_names) if j != grips), tuple(bodies))


class Stander:
    """Takes an arm to stations by its own controller, and reads how it stands there.

    Args:
        session: of an arm that is enabled, and not compensated.
        columns: of the joints that come to a station.

    Raises:
        ConfigurationError: its joints are not measured.
    """

    def __init__(self, session: LocalSession, columns: Sequence[int]):
        outputs, servos = session.arm.outputs, session.arm.servos
        if not isinstance(outputs, BusSession) or servos is None:
            name = session.arm.description.name
            raise ConfigurationError(f"{name} does not measure its joints: a person has to read them", name)
        self.session, self.arm, self.servos, self._columns = session, session.arm.description, servos, list(columns)
        self.measured = outputs.measured
        # goals stay where a station has them; what a joint may bear is looked at here, as figures are not known yet
        session.set(DYNAMICS, {"integral": False, "contact_stop": False})
        session.set(CONTROLLER, {"approach": "off"} | {f"constraints.{name}.goal": 0.0 for name in self.arm.joint_names})

    def validator(self, shares: tuple[float, float]) -> MotionValidator:
        """The running arm's validator; of stall torque motions take ``shares``, where they end and along them."""
        further = self.session.arm.controller.execution.limits.further
        wary = poses.cautious_validator(self.session.arm.model, self.servos, *shares)
        return replace(wary, description=self.arm, further=further)

    def read(self, there: np.ndarray, side: float) -> dict[str, Any]:
        """Come to ``there`` (n,) [rad] from one side, and read goals and positions (n,) [rad], and the supply's share.

        Raises:
            GoalRefusedError: there is no way.
            GoalAbortedError, BoardFaultError, LinkError: a joint is blocked, does not move or stand; a fault; the bus is gone.
        """
        away = poses.stand_off(self.servos, there, side, self._columns)
        self.travel(away)
        self._stand()
        began = self.measured.q
        self._go(there + LAST / poses.turn_off(self.servos) * (away - there), COMING_SPEED)
        self._go(there, LAST / LAST_S)
        self._stand()
        moved, least = np.abs(self.measured.q - began), MOVES * np.abs(there - away)
        if (stuck := moved < least).any():
            j = int(stuck.argmax())
            text = f"{self.arm.joint_names[j]} moved by {moved[j]:.3f} rad, must be {least[j]:.3f} at least: what holds it?"
            raise BoardFaultError(text, self.arm.joint_names[j], float(moved[j]), float(least[j]))
        rows = []
        for _ in range(SAMPLES):
            self.session.spin(self.session.arm.period_s)
            rows.append((self.measured.goals, self.measured.q, self.measured.volts))
        goals, q, volts = (np.mean(column, axis=0) for column in zip(*rows))
        share = float(volts.mean()) / self.servos.supply_v if self.servos.supply_v else 1.0
        return {"goals": goals.tolist(), "q": q.tolist(), "supply": checked_source(share)}

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
                self._require_free()

    def _require_free(self) -> None:
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

    def _stand(self) -> None:
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


def run(context: Context, estimate: ArmEstimate, session: LocalSession, weight_kg: float = 0.0) -> ArmEstimate:
    """Look at all stations that are not on file, bare ones first, and fit what was read.

    Args:
        session: as for ``Stander``.
        weight_kg: that a person hangs on the tool point once; 0: none.

    Raises:
        LeaveError: the person said no.
        PickerError: as ``Stander.read``; what was read is on file, and the same again goes on there.
    """
    model = sought(estimate.description, estimate.servos)
    stander, readings, found, begin_s = Stander(session, model.columns), list[Reading](), None, session.now_s
    stages = [("bare", 0.0, BARE if weight_kg else BARE + LOADED), ("loaded", weight_kg, LOADED)]
    for stage, mass, count in stages[: 2 if weight_kg else 1]:
        weight, shares = Weight(mass), (poses.HOLD_SHARE, poses.PEAK_SHARE)
        if mass:
            shares = poses.LOADED_HOLD_SHARE, poses.LOADED_PEAK_SHARE
        if (kept := context.known(f"stations.{stage}")) is None:
            context.tell(f"choosing {count} stations", "hint")
            chosen = stations(model, stander.validator(shares), weight, count, context.seed, found)
            kept = context.note(f"stations.{stage}", [one.pulses_us.tolist() for one in chosen])
        visits = list(product(enumerate(kept, 1), SIDES))
        open_ = [f"{stage}.{number}.{side:+.0f}" for (number, _), side in visits]
        open_ = [key for key in open_ if context.known(key) is None]
        if mass and open_:
            where = f"at the tool point, {estimate.description.tool}"
            context.agree("hang", f"Hang {1e3 * mass:.0f} g {where}. Are hands away again?", "the arm holds")
            context.session.record("arm", "hanging", [mass, *weight.point])
            session.set(DYNAMICS, {"payload.mass": mass})
        for (number, pulses), side in visits:
            key, station = f"{stage}.{number}.{side:+.0f}", Station(np.array(pulses), weight, seen_by(model))
            if (seen := context.known(key)) is None:
                context.tell(f"{stage} station {number} of {len(kept)}, from {'below' if side > 0 else 'above'}", "hint")
                try:
                    seen = stander.read(model.servos.to_angle(station.pulses_us), side)
                except GoalAbortedError:
                    raise
                except GoalRefusedError as error:
                    context.tell(f"left out: {error}", "warning")
                    seen = {}
                context.note(key, seen)
            if seen:
                readings += readings_of(model, station, side, seen, len(readings))
        found = fit(model, readings, SUPPLY_SD)
    context.tell(f"{len(readings)} readings in {session.now_s - begin_s:.0f} s", "hint")
    with suppress(GoalRefusedError):  # it holds where it is, as well
        stander.travel(np.array(estimate.servos.home))
    context.take_off()
    session.set(DYNAMICS, {"payload.mass": 0.0})
    assert found is not None
    for text in remarks(found, weight_kg):
        context.tell(text, "hint")
    return estimated(estimate, found, context.when)


def seen_by(model: DroopModel) -> tuple[Encoder, ...]:
    """What reads at each station."""
    return tuple(Encoder(name, step_of(model.servos)) for name in model.joints)


def step_of(servos: ServoMap) -> float:
    """A step in which these servos measure [rad]."""
    return DIALECTS[servos.bus or ""].step


def stations(
    model: DroopModel, validator: MotionValidator, weight: Weight, count: int, seed: int, first: DroopFit | None = None
) -> list[Station]:
    """The stations that tell most, in an order in which the ways are short."""
    arm, servos, found = model.description, model.servos, list[Station]()
    loaded, least = poses.with_weight(validator, weight), poses.least_height(arm, servos) + ABOVE_FLOOR_M
    moved = [j for j, one in zip(model.columns, model.bears) if one]
    for q in poses.drawn(arm, servos, moved, np.random.default_rng(seed), 100 * CANDIDATES):
        pulses = servos.quantise_us(servos.to_pulse_us(q))
        there = servos.to_angle(pulses)
        if validator.model.forward_kinematics(there)[2] > least and poses.passes(loaded, there):
            found.append(Station(pulses, weight, seen_by(model)))
        if len(found) == CANDIDATES:
            break
    left, ordered, at = poses.choose(model, validator, found, count, first), list[Station](), np.array(servos.home)
    while left:
        away = [float(np.abs(servos.to_angle(one.pulses_us) - at).max()) for one in left]
        ordered.append(left.pop(int(np.argmin(away))))
        at = servos.to_angle(ordered[-1].pulses_us)
    return ordered


def readings_of(model: DroopModel, station: Station, side: float, seen: Mapping[str, Any], visit: int) -> list[Reading]:
    """Readings of a visit, at the goals that the servos had."""
    there = replace(station, pulses_us=model.servos.to_pulse_us(np.array(seen["goals"])))
    return there.readings([seen["q"][j] for j in model.columns], visit, side, seen["supply"])


def estimated(estimate: ArmEstimate, found: DroopFit, when: str) -> ArmEstimate:
    """The arm as a fit tells it, bodies too."""
    was, model, links = estimate.description.links, found.model, {}
    arm = model.weighed(found.unknowns[len(model.joints) * len(FIGURES) :], f"found by picker calibrate {when}")
    for name in model.bodies:
        link, along, heavier = arm.links[name], lay(arm, name), found.figure(name, "mass")
        place = model.names.index(f"{name}.{BODY[1]}")
        spread = along.ahead @ found.covariance[place : place + 3, place : place + 3] @ along.ahead
        centre = Measured(along.distance(link.com), float(np.sqrt(spread)) * was[name].mass / link.mass)
        links[name] = LinkProperties(Measured(link.mass, heavier.sd * was[name].mass), centre)
    return replace(estimate, description=arm, links=links, fit=found)


def remarks(found: DroopFit, weight_kg: float) -> Iterator[str]:
    """What the readings leave open, for a person."""
    model = found.model
    blind = [joint for joint, bears in zip(model.joints, model.bears) if not bears]
    if blind:
        yield (
            f"Gravity tells nothing of the zeros of {', '.join(blind)}: they stay as the servo map, or LeRobot's file, has them; "
            "of their springs and friction only what both give together."
        )
    if not weight_kg:
        yield "No known mass hung on the arm: stiffness and masses may all be off by the same share (--weight GRAMS tells)."
    others = [name for name in model.description.joint_names if name not in model.joints]
    if others:
        yield f"{', '.join(others)}: not looked at; its spring is taken to be like the others'. Limits are the servo map's."
