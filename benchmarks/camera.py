"""What a camera finds of an arm, over drawn arms: ``python -m benchmarks.camera``.

Pickers whose masses, stiffness and friction are up to 15 % off, with horns mounted askew, one webcam at 0.65 to 0.85 m, tags
glued as well as a person does it; 20 stations from both sides.  ``static``: arms at rest at once (MuJoCo's gravity, the hidden
springs and frictions), corners with 0.1 px of noise.  ``crooked``: axes 0.5 degrees and links 2 mm off besides, tags measured.
``weighed``: with 100 g at four stations besides.  ``moved``: arms that go to every station through controller, protocol and
board, seen in drawn pictures, and then hold poses.  ``prove``: what ``picker prove`` states of those, against the truth.
"""

from __future__ import annotations

import json
import tempfile
import time

import numpy as np

from benchmarks.bus_calibration import Agrees, inside, spread
from benchmarks.calibration_benches import CHANCE_NM, HOPS, RestingBench
from picker_dynamics.estimation.calibration import by_itself, evaluate, prove, seen
from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate
from picker_dynamics.estimation.calibration.droop_model import Weight, skid
from picker_dynamics.estimation.calibration.poses import SIDES, Station
from picker_dynamics.estimation.calibration.questions import Context
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.estimation.hidden_arm import HiddenArm, RenderedEye, SimulatedEye
from picker_dynamics.robot.kinematic_tree import tool_pose

ARMS, CROOKED, WEIGHED, MOVED = 12, 6, 4, 3
PLANT_ERROR, NOISE_PX, HELD, WEIGHT_KG = 0.15, 0.1, 10, 0.1
RELATIVE = ("stiffness", "coulomb")


class RestingViewer(seen.Viewer):
    """Sees an arm that is at rest at once wherever it is looked at."""

    def __init__(self, hidden: HiddenArm, eye: SimulatedEye, model, seed: int):
        super().__init__(hidden.session, eye, model)
        self.bench = RestingBench(hidden.plant, np.random.default_rng(seed), hidden.believed)
        self.visits, self.touched = 0, dict[int, np.ndarray]()  # by how much joints are elsewhere at a visit [rad]

    def read(self, there, side: float) -> dict:
        """Be at a station, come from one side, and look."""
        bench, columns = self.bench, self.model.columns
        station = Station(self.servos.to_pulse_us(there), Weight(self.session.payload()), ())
        hops, plant, servo = bench.hops(station), bench.plant, bench.plant.whole_servo
        held = -side * bench.rng.uniform(*HOPS, plant.n) * hops + bench.rng.normal(0.0, CHANCE_NM, plant.n)
        q = bench.resting(station, columns, side, held)
        skids = skid(plant.bias(q, np.zeros(plant.n)) + side * servo.coulomb, hops, servo.gap)
        q[columns] += skids[columns] * bench.rng.normal(size=len(columns))
        q += self.touched.get(self.visits, 0.0)
        self.visits += 1
        return {"tags": {name: one.tolist() for name, one in self.eye.seen(q).items()}}


def picker(seed: int, crooked: float, noise_px: float | None, rendered: bool = False):
    """A hidden arm, the camera beside it, and both tags as they should be."""
    hidden = HiddenArm("", "", "", PLANT_ERROR, seed, crooked)
    tags = seen.HAND_TAG_M, seen.sheet_tag(hidden.description, 1.0)
    return hidden, RenderedEye(hidden, *tags, seed) if rendered else SimulatedEye(hidden, *tags, seed, noise_px), tags


def at_rest(
    seed: int, crooked: float = 0.0, weight_kg: float = 0.0, touched=None, tell=lambda _text, _style: None, rendered=False
) -> dict:
    """One arm that is at rest at once; ``touched``: joints elsewhere at some visits [rad], by the visit's number; ``rendered``:
    seen in MuJoCo's pictures."""
    hidden, eye, tags = picker(seed, crooked, NOISE_PX, rendered)
    base, home = by_itself.sought(hidden.description, hidden.believed), np.array(hidden.believed.home)
    true_home = hidden.hidden.to_angle(hidden.believed.to_pulse_us(home))
    first = seen.first_model(base, eye.seen(true_home), (eye.width, eye.height), home, tags, bool(crooked))
    viewer, estimate = RestingViewer(hidden, eye, first, seed), ArmEstimate(hidden.description, hidden.believed)
    viewer.touched |= touched or {}
    with tempfile.TemporaryDirectory() as folder:
        person = Agrees()
        person.tell = tell
        context = Context(Session.open(folder, {}, {}), person, None, seed, step="stations")
        fit = by_itself.looked_at(context, viewer, weight_kg)
        started = time.process_time()
        by_itself.fitted(viewer, fit.readings, lambda _text, _style: None)
    seconds, found = round(time.process_time() - started, 1), by_itself.estimated(estimate, fit, "")
    poses = prove.new_poses(viewer, fit, HELD, seed + 100)
    result = {"rows": figures(hidden, found), "misfit": fit.misfit, "fit_s": seconds}
    result["stated_mm"] = 1e3 * evaluate.tip_uncertainty(found, poses)
    for name, one in (("after", found), ("known", known(hidden))):
        off = tips_mm(hidden, viewer.bench, one, poses)
        result[name] = float(np.median(off))
        result[f"{name}_inside"] = (off <= result["stated_mm"]).tolist()
    return result


def tips_mm(hidden: HiddenArm, bench: RestingBench, one: ArmEstimate, poses) -> np.ndarray:
    """How far the true tip rests from where ``one`` says that it is, come from either side [mm]."""
    off = []
    for side in SIDES:
        for pose, pulses in zip(poses, evaluate.pulses_at(one, poses, side)):
            q = bench.resting(Station(pulses, Weight(), ()), range(one.servos.n), side)
            off.append(np.linalg.norm(hidden.plant.tip_at(q) - tool_pose(one.description, pose).position))
    return 1e3 * np.array(off)


def known(hidden: HiddenArm) -> ArmEstimate:
    """The arm as it truly is."""
    return ArmEstimate(*evaluate.exact(hidden.plant, hidden.believed))


def figures(hidden: HiddenArm, found: ArmEstimate) -> list[tuple[str, str, float, bool]]:
    """Kind, joint, error (a share of stiffness and coulomb, else rad or x), whether the 95 % interval has the truth."""
    rows, plant = [], hidden.plant
    for joint in found.fit.model.joints:
        j = plant.joint_names.index(joint)
        was, true, one = hidden.believed.servos[j], hidden.hidden.servos[j], found.figures[joint]
        truth = {name: float(getattr(plant.whole_servo, name)[j]) for name in ("stiffness", "gap", "load_friction", "coulomb")}
        truth["zero"] = -was.direction * (true.zero - was.zero)
        for kind, value in truth.items():
            seen_ = getattr(one, kind)
            rows.append((kind, joint, (seen_.value - value) / (value if kind in RELATIVE else 1.0), seen_.contains(value)))
    return rows


def in_motion(seed: int, weight_kg: float = 0.0, noise_px: float | None = None) -> dict:
    """One arm that is calibrated by drawn pictures as it moves, and then proved."""
    hidden, eye, tags = picker(seed, 0.0, noise_px)
    estimate = ArmEstimate(hidden.description, hidden.believed)
    with tempfile.TemporaryDirectory() as folder:
        context = Context(Session.open(folder, {}, {}), Agrees(), None, seed, step="stations")
        began_s = hidden.session.now_s
        viewer = seen.begin(context, estimate, hidden.session, eye, tags)
        found = by_itself.run(context, estimate, viewer, weight_kg)
        moved_s = hidden.session.now_s - began_s
    poses = prove.new_poses(viewer, found.fit, HELD, seed + 100)
    result = {"machine_s": round(moved_s), "misfit": round(found.fit.misfit, 2), "rows": figures(hidden, found)}
    believed = ArmEstimate(hidden.description, hidden.believed)
    for name, one in (("before", believed), ("after", found), ("known", known(hidden))):
        stated, true = proved(hidden, eye, viewer.model, found.fit, one, poses)
        result[name], result[f"{name}_stated"] = float(np.median(true)), float(np.median(stated))
        result[f"{name}_apart"] = float(np.median(np.abs(stated - true)))
    return result


def proved(hidden: HiddenArm, eye: SimulatedEye, model, fit, one: ArmEstimate, poses) -> tuple[np.ndarray, np.ndarray]:
    """Tip errors at rest under a controller that believes ``one``: as the camera states them, and in truth [mm]."""
    stated, true = [], []
    with hidden.hand_over(one.description, one.known_servos, "full", plant_error=hidden.plant.error) as session:
        viewer = seen.Viewer(session, eye, model)
        for pose in poses:
            (looked,) = prove.held(viewer, fit, [pose], lambda _text: None)
            if looked is not None:
                stated.append(looked.off_mm)
                true.append(1e3 * float(np.linalg.norm(hidden.plant.tip - looked.asked)))
    return np.array(stated), np.array(true)


def summary(arms: list[dict]) -> dict:
    """Figures of all arms."""
    rows, said = [row for arm in arms for row in arm["rows"]], {}
    for kind in dict.fromkeys(row[0] for row in rows):
        some = [row for row in rows if row[0] == kind]
        said[kind] = spread(np.abs([row[2] for row in some]), 4) | inside([(*row[1:],) for row in some])
    bearing = [abs(row[2]) for row in rows if row[0] == "stiffness" and row[1] in ("shoulder", "elbow")]
    after, exact = (np.array([arm[name] for arm in arms]) for name in ("after", "known"))
    return {
        "arms": len(arms),
        "figures": said,
        "stiffness_bearing": spread(bearing, 4),
        "tip_mm": spread(after),
        "above_all_known_mm": spread(after - exact),
    }


def run(arms: int = ARMS, crooked: int = CROOKED, weighed: int = WEIGHED, moved: int = MOVED) -> dict:
    """All of it; JSON-able.

    Args:
        arms: at rest at once; crooked: of those with crooked axes; weighed: with a known weight; moved: in motion.
    """
    still = [at_rest(seed) for seed in range(1, arms + 1)]
    result = {"servo": "typical", "plant_error": PLANT_ERROR, "noise_px": NOISE_PX, "static": summary(still)}
    result["static"]["tip_inside_percent"] = round(
        100.0 * float(np.mean([one for arm in still for one in arm["after_inside"]])), 1
    )
    result["static"]["fit_s"] = max(arm["fit_s"] for arm in still)
    result["crooked"] = summary([at_rest(seed, 1.0) for seed in range(1, crooked + 1)])
    result["weighed"] = summary([at_rest(seed, 0.0, WEIGHT_KG) for seed in range(1, weighed + 1)])
    motion = [in_motion(seed) for seed in range(1, moved + 1)]
    result["moved"] = summary(motion) | {"machine_s": max(arm["machine_s"] for arm in motion)}
    result["moved"]["before_mm"] = spread([arm["before"] for arm in motion])
    result["prove"] = {"apart_mm": spread([arm["after_apart"] for arm in motion])}
    return result


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
