"""What a calibration finds, over many arms with hidden numbers: ``python -m benchmarks.calibration``.

Two kinds of simulated arm, both read with the noise of real instruments (scale 1 g, ruler 0.5 mm, stopwatch 50 ms, inclinometer
0.1 degrees).  ``found``: many arms that are at rest at once (``RestingBench``: MuJoCo's gravity and the hidden springs in balance
with a drawn friction), for errors and for how often the stated intervals contain the truth.  ``moved``: fewer arms that really
move to every station, swing and stick there (``MovingBench``), and then follow the motions of the hold benchmark with the
numbers believed before, with those found, and with the true ones: the floor of pulse steps and friction.  Servos are typical
ones, drawn around x = 0.4, 2 % of stall and 0.5 degrees of play; a gap is half of deadband and play.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from os import cpu_count

import numpy as np

from benchmarks.calibration_benches import MovingBench, RestingBench, calibrate, cross_validation
from picker_dynamics.estimation.calibration import evaluate
from picker_dynamics.estimation.calibration.arm_estimate import given
from picker_dynamics.estimation.calibration.instruments import lay
from picker_dynamics.estimation.calibration.poses import SIDES, WEIGHTS, Station, Weight

PLANT_ERROR = 0.15
ARMS, MOVED = 200, 3
UNITS = {
    "mass": 100.0,
    "centre": 1e3,
    "inertia": 100.0,
    "zero": np.degrees(1.0),
    "scale": 100.0,
    "stiffness": 100.0,
    "gap": np.degrees(1.0),
    "load_friction": 1.0,
    "coulomb": 1e3,
}
"""Errors are in per cent of the truth, of centres in millimetres, of zeros and gaps in degrees, of scales in per cent of the
angle, of friction without load in mN·m."""

RELATIVE = ("mass", "inertia", "stiffness")


def arm_and_servos():
    """The arm as drawn, the servos as believed, and those that the simulated arm is built around."""
    return *given(), given(simulated=True)[1]


def calibrated(bench_class, seed: int):
    """The bench with one arm, what was found of it, and how long that took [s]."""
    arm, believed, simulated = arm_and_servos()
    bench = bench_class.with_errors(arm, simulated, plant_error=PLANT_ERROR, seed=seed)
    started = time.perf_counter()
    found = calibrate(arm, believed, bench, WEIGHTS, seed=seed)
    return bench, found, time.perf_counter() - started


def compared(plant, found, moved: bool = False) -> list[tuple[str, str, float, bool]]:
    """Kind, name, error (see ``UNITS``) and whether the interval contains the truth, of every figure found."""
    _, believed, _ = arm_and_servos()
    rows, whole, figures = [], plant.whole_servo, found.figures
    source = plant.source if moved else 1.0  # nobody measures the supply: K is that at the voltage that there is

    def add(kind: str, name: str, measured, truth: float) -> None:
        error = (measured.value - truth) * UNITS[kind] / (truth if kind in RELATIVE else 1.0)
        rows.append((kind, name, float(error), measured.contains(truth)))

    for column, joint in enumerate(plant.joint_names):
        one, true, was = figures[joint], plant.servo_map.servos[column], believed.servos[column]
        add("zero", joint, one.zero, -was.direction * (true.zero - was.zero))
        add("scale", joint, one.scale, true.horn_angles[-1] / was.horn_angles[-1] - 1.0)
        if one.stiffness is not None:
            for kind in ("stiffness", "gap", "load_friction", "coulomb"):
                truth = float(getattr(whole, kind)[column]) * (source if kind == "stiffness" else 1.0)
                add(kind, joint, getattr(one, kind), truth)
    for name, one in found.links.items():
        link, error, along = plant.description.links[name], plant.error, lay(plant.description, name)
        add("mass", name, one.mass, link.mass * error.mass[name])
        if one.inertia is not None:  # a link that balances on its axis has neither
            add("centre", name, one.distance, along.distance(link.com))
            add("inertia", name, one.inertia, along.inertia(link.inertia) * error.inertia[name])
    return rows


@cache
def usual_ends() -> np.ndarray:
    """(k, n) poses [rad] at which the tip is looked at."""
    arm, _, simulated = arm_and_servos()
    return np.array([path.end for path in evaluate.usual_paths(arm, simulated)])


def tip_errors(bench: RestingBench, found, poses) -> np.ndarray:
    """(k,) how far the true arm's tip rests from where it should [m], come from either side, without pulse steps."""
    plant, off = bench.plant, []
    for side in SIDES:
        for pose, pulses in zip(poses, evaluate.pulses_at(found, poses, side)):
            q = bench.resting(Station(pulses, Weight(), ()), range(plant.n), side)
            off.append(np.linalg.norm(plant.tip_at(q) - plant.tip_at(pose)))
    return np.array(off)


def at_rest(seed: int) -> dict:
    """One arm that is at rest at once."""
    bench, found, seconds = calibrated(RestingBench, seed)
    ends = usual_ends()
    stated, off = evaluate.tip_uncertainty(found, ends), tip_errors(bench, found, ends)
    return {
        "rows": compared(bench.plant, found),
        "misfit": found.fit.misfit,
        "seconds": seconds,
        "tip_stated_mm": 1e3 * stated,
        "tip_inside": (off <= stated).tolist(),
        "outliers": len(found.fit.outliers),
        "left_out_mm": 1e3 * float(np.median(cross_validation(found.fit))),
        "stations": len({one.pose[:-3] for one in found.fit.readings}),
    }


def in_motion(seed: int) -> dict:
    """One arm that moves, and what its calibration is worth."""
    arm, believed, simulated = arm_and_servos()
    bench, found, seconds = calibrated(MovingBench, seed)
    plant = bench.plant
    paths = evaluate.usual_paths(arm, simulated)
    sides = (arm, believed), (found.description, found.known_servos), evaluate.exact(plant, believed)
    errors, left_out = evaluate.tip_error_report(plant, sides, paths), cross_validation(found.fit)
    report = {
        "seed": seed,
        "rows": compared(plant, found, True),
        "misfit": round(found.fit.misfit, 3),
        "seconds": round(seconds, 1),
        "left_out_mm": {"median": round(1e3 * float(np.median(left_out)), 2), "worst": round(1e3 * float(left_out.max()), 2)},
        "tip_uncertainty_95_mm": round(1e3 * evaluate.tip_uncertainty(found, [path.end for path in paths]), 2),
    }
    for name, one in vars(errors).items():
        report[name] = {"hold_mm": _spread(1e3 * one.hold), "tracking_rms_mm": _spread(1e3 * one.tracking)}
    before, after, floor = (report[name]["hold_mm"]["median"] for name in ("before", "after", "floor"))
    return report | {"above_floor_mm": round(after - floor, 2), "share_of_before": round(after / before, 3)}


def summary(arms: list[dict]) -> dict:
    """Errors and coverage by kind of figure, and by joint for the stiffness."""
    rows, result = [row for arm in arms for row in arm["rows"]], {}
    for kind in UNITS:
        result[kind] = _errors([row for row in rows if row[0] == kind])
    for joint in sorted({name for kind, name, *_ in rows if kind == "stiffness"}):
        result[f"stiffness_{joint}"] = _errors([row for row in rows if row[:2] == ("stiffness", joint)])
    return result


def _errors(rows) -> dict:
    size = np.abs([row[2] for row in rows])
    inside = 100.0 * float(np.mean([row[3] for row in rows]))
    return {
        "count": len(rows),
        "bias": round(float(np.mean([row[2] for row in rows])), 4),
        **{f"p{share}": round(float(np.percentile(size, share)), 4) for share in (50, 95, 99)},
        "worst": round(float(size.max()), 4),
        "intervals_with_truth_percent": round(inside, 1),
    }


def _spread(values) -> dict:
    return {"median": round(float(np.median(values)), 2), "max": round(float(np.max(values)), 2)}


def _resting(arms: list[dict]) -> dict:
    return {
        "arms": len(arms),
        "stations": arms[0]["stations"],
        "figures": summary(arms),
        "misfit": _spread([arm["misfit"] for arm in arms]),
        "left_out_mm": _spread([arm["left_out_mm"] for arm in arms]),
        "outliers": sum(arm["outliers"] for arm in arms),
        "tip_stated_mm": _spread([arm["tip_stated_mm"] for arm in arms]),
        "tip_within_stated_percent": round(100.0 * float(np.mean([arm["tip_inside"] for arm in arms])), 1),
        "seconds_each": round(float(np.median([arm["seconds"] for arm in arms])), 2),
    }


def moving(arms: int, pool) -> dict:
    """Arms in motion, and what their calibrations are worth."""
    found = list(pool.map(in_motion, range(arms)))
    return {
        "arms": arms,
        "figures": summary(found),
        "worst_above_floor_mm": max(arm["above_floor_mm"] for arm in found),
        "worst_share_of_before": max(arm["share_of_before"] for arm in found),
        "hold_mm": {name: _spread([arm[name]["hold_mm"]["median"] for arm in found]) for name in ("before", "after", "floor")},
        "seconds_each": round(float(np.median([arm["seconds"] for arm in found])), 1),
        "each": [{key: value for key, value in arm.items() if key != "rows"} for arm in found],
    }


def workers() -> ProcessPoolExecutor:
    """A process on each core."""
    return ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn"))


def run(arms: int = ARMS, moved: int = MOVED) -> dict:
    """All of it; JSON-able.

    Args:
        arms: at rest; moved: in motion.
    """
    started = time.perf_counter()
    with workers() as pool:
        found = list(pool.map(at_rest, range(arms)))
        motion = moving(moved, pool)
    resting = _resting(found)
    coverage = [resting["figures"][kind]["intervals_with_truth_percent"] for kind in UNITS]
    return {
        "setup": {
            "plant_error": PLANT_ERROR,
            "weights_kg": [weight.mass for weight in WEIGHTS],
            "found": "at rest at once, friction drawn; not moved",
            "moved": "MuJoCo's motion to every station",
            "errors": "per cent of the truth; centre: mm; zero, gap: degrees; scale: per cent of the angle; coulomb: mN·m",
        },
        "found": resting | {"least_coverage_percent": min(coverage), "most_coverage_percent": max(coverage)},
        "moved": motion,
        "seconds": round(time.perf_counter() - started, 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
