"""What an arm on bus servos finds of itself, over drawn arms: ``python -m benchmarks.bus_calibration``.

SO-101s whose masses, stiffness and friction are up to 15 % off (gears 20 to 50 %), zeros by 2 degrees where gravity tells them,
calibrated with 200 g.  ``found``: arms that are at rest at once (MuJoCo's gravity, the hidden springs and frictions; no motion,
no supply).  ``moved``: arms that go to every station through controller, bytes and simulated bus, and then hold poses.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass

import numpy as np

from benchmarks.bus import ABOVE_M, DRAWN, POSES, SEED, SETTLES_S, SPREAD_RAD
from benchmarks.calibration_benches import CHANCE_NM, HOPS, RestingBench
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import GoalAbortedError, PickerError
from picker_dynamics.estimation.calibration import by_itself, evaluate, measured
from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate
from picker_dynamics.estimation.calibration.droop_fit import fit
from picker_dynamics.estimation.calibration.droop_model import Weight
from picker_dynamics.estimation.calibration.poses import (
    HOLD_SHARE,
    LOADED_HOLD_SHARE,
    LOADED_PEAK_SHARE,
    PEAK_SHARE,
    SIDES,
    Station,
)
from picker_dynamics.estimation.calibration.questions import Context
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.estimation.hidden_arm import HiddenArm
from picker_dynamics.execution.goal import asked_duration
from picker_dynamics.resources import resource
from picker_dynamics.robot.kinematic_tree import sample_poses

ARMS, MOVED, PLANT_ERROR, WEIGHT_KG = 12, 2, 0.15, 0.2
FILES = str(resource("urdf/so101.urdf")), str(resource("config/so101.servos.yaml")), ""
RELATIVE = ("stiffness", "coulomb")


def poses_of(hidden: HiddenArm, count: int = POSES) -> np.ndarray:
    """Random poses (count, n) about home [rad], tips above the table."""
    rng, home, found = np.random.default_rng(SEED), np.array(hidden.believed.home), []
    while len(found) < count:
        pose = home + rng.uniform(-SPREAD_RAD, SPREAD_RAD, len(home)) * [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
        if hidden.plant.tip_at(pose)[2] >= ABOVE_M:
            found.append(pose)
    return np.array(found)


@dataclass
class RestingArm:
    """A hidden arm that is at rest at once wherever it is looked at."""

    hidden: HiddenArm
    seed: int

    def __post_init__(self) -> None:
        self.bench = RestingBench(self.hidden.plant, np.random.default_rng(self.seed), self.hidden.believed)

    def read(self, station: Station, side: float) -> dict:
        """What its servos say at a station, come to from one side."""
        bench, believed, true = self.bench, self.hidden.believed, self.hidden.hidden
        held = -side * bench.rng.uniform(*HOPS, believed.n) * bench.hops(station) + bench.rng.normal(0.0, CHANCE_NM, believed.n)
        q = bench.resting(station, range(believed.n), side, held)
        counted = believed.to_angle(true.to_pulse_us(q))
        step = measured.step_of(believed)
        return {"goals": believed.to_angle(station.pulses_us), "q": step * np.rint(counted / step), "supply": 1.0}

    def calibrated(self) -> ArmEstimate:
        """What is found of it."""
        hidden = self.hidden
        stander, readings, found = measured.Stander(hidden.session), [], None
        for mass, count, shares in (
            (0.0, measured.BARE, (HOLD_SHARE, PEAK_SHARE)),
            (WEIGHT_KG, measured.LOADED, (LOADED_HOLD_SHARE, LOADED_PEAK_SHARE)),
        ):
            for station in by_itself.stations(stander, shares, Weight(mass), count, self.seed, found):
                for side in SIDES:
                    readings += stander.readings(station, side, self.read(station, side), len(readings))
            found = fit(stander.model, readings, measured.SUPPLY_SD)
        return by_itself.estimated(ArmEstimate(hidden.description, hidden.believed), found, "")

    def tips_mm(self, found: ArmEstimate, poses) -> np.ndarray:
        """How far its tip rests from where it should, come from either side [mm]."""
        off = []
        for side in SIDES:
            for pose, pulses in zip(poses, evaluate.pulses_at(found, poses, side)):
                q = self.bench.resting(Station(pulses, Weight(), ()), range(found.servos.n), side)
                off.append(np.linalg.norm(self.hidden.plant.tip_at(q) - self.hidden.plant.tip_at(pose)))
        return 1e3 * np.array(off)


def figures(hidden: HiddenArm, found: ArmEstimate) -> list[tuple[str, float, bool]]:
    """Kind, error (a share of stiffness, friction and masses, else rad or x), whether the 95 % interval has the truth."""
    rows, plant, fitted = [], hidden.plant, found.fit
    for joint in [one for one, bears in zip(fitted.model.joints, fitted.model.bears) if bears]:
        j = plant.joint_names.index(joint)
        was, true, one = hidden.believed.servos[j], hidden.hidden.servos[j], found.figures[joint]
        truth = {name: float(getattr(plant.whole_servo, name)[j]) for name in ("stiffness", "gap", "load_friction", "coulomb")}
        truth["zero"] = -was.direction * (true.zero - was.zero)
        for kind, value in truth.items():
            seen = getattr(one, kind)
            rows.append((kind, (seen.value - value) / (value if kind in RELATIVE else 1.0), seen.contains(value)))
    for name in fitted.model.bodies:
        mass = plant.description.links[name].mass * plant.error.mass[name]
        rows.append(("mass", found.links[name].mass.value / mass - 1.0, found.links[name].mass.contains(mass)))
    return rows


def gravity_percent(hidden: HiddenArm, found: ArmEstimate) -> float:
    """Error of the gravity torques at poses that were not visited, as a share of their size [%]: root mean squares."""
    q = sample_poses(hidden.description, 200)
    true = np.array([hidden.plant.bias(row, 0.0 * row) for row in q])
    return 100.0 * float(np.linalg.norm(RigidBody(found.description).gravity(q) - true) / np.linalg.norm(true))


def known(hidden: HiddenArm) -> ArmEstimate:
    """The arm as it truly is."""
    return ArmEstimate(*evaluate.exact(hidden.plant, hidden.believed))


def at_rest(seed: int) -> dict:
    """One arm that is at rest at once."""
    hidden = HiddenArm(*FILES, PLANT_ERROR, seed)
    arm, poses = RestingArm(hidden, seed), poses_of(hidden)
    found = arm.calibrated()
    tips = {name: float(np.median(arm.tips_mm(one, poses))) for name, one in (("after", found), ("known", known(hidden)))}
    stated = 1e3 * evaluate.tip_uncertainty(found, poses)
    return {"rows": figures(hidden, found), "gravity_percent": gravity_percent(hidden, found), "stated_mm": stated, **tips}


def in_motion(seed: int, poses: int = 8) -> dict:
    """One arm that calibrates itself, and then holds poses by what it found."""
    hidden = HiddenArm(*FILES, PLANT_ERROR, seed)
    with tempfile.TemporaryDirectory() as folder:
        context = Context(Session.open(folder, {}, {}), Agrees(), None, seed, step="stations")
        before_s = hidden.session.now_s
        found = by_itself.run(
            context, ArmEstimate(hidden.description, hidden.believed), measured.Stander(hidden.session), WEIGHT_KG
        )
    result = {"machine_s": round(hidden.session.now_s - before_s), "misfit": round(found.fit.misfit, 2)}
    result |= {"rows": figures(hidden, found), "gravity_percent": gravity_percent(hidden, found)}
    for name, one in (("after", found), ("known", known(hidden))):
        result[name] = float(np.median(rest_errors_mm(hidden, one, poses)))
    return result


def rest_errors_mm(hidden: HiddenArm, one: ArmEstimate, count: int) -> list[float]:
    """Where the true tip rests under a controller that believes ``one`` [mm]."""
    errors = []
    with hidden.under(one.description, one.known_servos, "full", plant_error=hidden.plant.error) as session:
        plant = session.plant
        for pose in poses_of(hidden, DRAWN * count):
            try:
                session.move_to(asked_duration(hidden.description, session.reference(), pose), pose)
            except GoalAbortedError:
                pass  # it is there, and further off than a goal may be
            except PickerError:  # not to be held, or no way there: another pose
                continue
            session.spin(SETTLES_S)
            errors.append(1e3 * float(np.linalg.norm(plant.tip - plant.tip_at(pose))))
            if len(errors) == count:
                break
    return errors


class Agrees:
    """Whoever says yes."""

    def ask(self, question) -> str:
        return "yes"

    def tell(self, text: str, style: str = "") -> None:
        """Nobody listens."""


def summary(arms: list[dict]) -> dict:
    """Figures of all arms."""
    rows, said = [row for arm in arms for row in arm["rows"]], {}
    for kind in dict.fromkeys(row[0] for row in rows):
        some = [row for row in rows if row[0] == kind]
        said[kind] = spread(np.abs([row[1] for row in some]), 4) | inside(some)
    after, exact = (np.array([arm[name] for arm in arms]) for name in ("after", "known"))
    return {
        "arms": len(arms),
        "figures": said,
        **inside(rows),
        "gravity_percent": spread([arm["gravity_percent"] for arm in arms]),
        "tip_mm": spread(after),
        "all_known_mm": spread(exact),
        "above_all_known_mm": spread(after - exact),
    }


def spread(values, digits: int = 2) -> dict:
    """Median and worst."""
    return {"median": round(float(np.median(values)), digits), "worst": round(float(np.max(values)), digits)}


def inside(rows) -> dict:
    """How many intervals have the truth."""
    return {"inside_percent": round(100.0 * float(np.mean([row[2] for row in rows])), 1)}


def run(arms: int = ARMS, moved: int = MOVED) -> dict:
    """All of it; JSON-able.

    Args:
        arms: at rest; moved: in motion.
    """
    motion = [in_motion(seed) for seed in range(1, moved + 1)]
    return {
        "servo": "typical",
        "plant_error": PLANT_ERROR,
        "weight_kg": WEIGHT_KG,
        "found": summary([at_rest(seed) for seed in range(1, arms + 1)]),
        "moved": summary(motion) | {"machine_s": max(arm["machine_s"] for arm in motion)} if motion else {},
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
