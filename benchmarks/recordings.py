"""Figures on recordings that others made of real hardware: ``python -m benchmarks.recordings --data FOLDER``.

Nothing is fetched and nothing of it is part of this repository: a person puts the files anywhere below FOLDER, and each section
runs for which there are files.  ``docs/validation.md`` says where they are from, and what came out.

* Servos: logs of a pendulum, JSON with ``motor``, ``mass``, ``length``, ``kp`` and ``entries``.  XL-330: fitted at other P gains
  than 400, compared at 400.  STS3250: the trajectory ``sin_sin`` is held out.
* A UR10e: ``ur10e.urdf`` and CSV files without names.  Fitted to 30 s, another recording predicted; joints that slide in a
  point-to-point motion; and whether intervals hold between recordings.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.targets import judged
from picker_dynamics.errors import PickerError
from picker_dynamics.estimation.identification import filtering, procedure, servo_fit
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.samples import Samples
from picker_dynamics.estimation.identification.servo_fit import ServoLog, checked
from picker_dynamics.files.formats import read_json
from picker_dynamics.robot import description

UR_CONSTANTS = 14.87, 13.26, 11.13, 10.62, 11.03, 11.47
"""Of De Luca, as the data set quotes them [N·m/A]."""

UR_FITTED = "ur-20_02_10-30sec_12harm"
UR_HELD_OUT = {
    "sec50": ("ur-20_02_12-50sec_12harm", 3.76, 54.17),
    "sec40": ("ur-20_02_12-40sec_12harm", 5.32, 47.51),
    "sec20": ("ur-20_02_05-20sec_8harm", 3.41, 24.74),
    "point_to_point": ("ur-20_01_17-ptp_10_points", 7.45, 44.86),
}
"""Files, and where their motion begins and ends [s]."""

UR_PAIRS = UR_FITTED, "ur-20_02_12-40sec_12harm", "ur-20_02_12-50sec_12harm"


# -- servos ----------------------------------------------------------------------------------------------------------------


def servo_logs(folder: Path) -> dict[str, list[tuple[str, ServoLog]]]:
    """Trajectory and log of each recording, by motor."""
    found: dict[str, list[tuple[str, ServoLog]]] = {}
    for path in sorted(folder.rglob("*.json")):
        try:
            content = read_json(path, "recording")
        except PickerError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if not (isinstance(content, dict) and {"motor", "mass", "length", "kp", "entries"} <= content.keys()):
            continue
        names = ("timestamp", "goal_position", "position", "input_volts", "torque_enable")
        t, goal, q, volts, enabled = np.array([[float(entry[name]) for name in names] for entry in content["entries"]]).T
        mass, rod = float(content["mass"]), float(content.get("arm_mass", content.get("arm-mass", 0.0)))
        pendulum = {"mass": mass, "length": float(content["length"]), "rod_mass": rod}
        log = ServoLog(str(path), t - t[0], goal, q, enabled > 0.5, volts, **pendulum, gain=float(content["kp"]))
        found.setdefault(content["motor"], []).append((content["trajectory"], checked(log)))
    return found


def servo(logs: list[tuple[str, ServoLog]], held_out: Callable[[str, ServoLog], bool]) -> dict:
    """Figures and errors [rad]."""
    others = [(name, log) for name, log in logs if held_out(name, log)]
    fitted = [log for name, log in logs if not held_out(name, log)]
    if not (others and fitted):
        return {"not_run": "no recordings to fit, or none to hold out"}
    found = servo_fit.fit(fitted)
    errors = {name: found.error(log)["mean"] for name, log in others}
    result = {
        "held_out_rad": round(float(np.mean(list(errors.values()))), 5),
        "logs": {name: round(value, 5) for name, value in errors.items()},
        "figures": {name: round(value, 6) for name, value in found.figures.items()},
        "interval_95": {name: round(1.96 * sd, 6) for name, sd in found.sd.items()},
        "told": [name for name, told in found.told.items() if told],
        "at": {"voltage_v": found.voltage, "gain": found.gain},
    }
    return {"fitted": len(fitted), "held_out": len(others), "load_friction": result}


# -- an arm ----------------------------------------------------------------------------------------------------------------


def ur10e(folder: Path) -> dict:
    """Errors [% of the torques' root mean square], and how far two recordings agree within their intervals [%]."""
    paths = {path.stem: path for path in folder.rglob("ur-*.csv")}
    urdfs = sorted(folder.rglob("ur10e.urdf"))
    if not urdfs or UR_FITTED not in paths:
        return {"not_run": f"no ur10e.urdf or no {UR_FITTED}.csv"}
    arm = description.load(urdfs[0])

    def samples(name: str, begin_s: float = -np.inf, end_s: float = np.inf) -> Samples:
        t, *rest = np.loadtxt(paths[name], delimiter=",", usecols=range(19)).T
        kept = (begin_s <= t - t[0]) & (t - t[0] <= end_s)
        q, v, current = (np.array(rest[i : i + 6]).T[kept] for i in (0, 6, 12))
        return Samples(arm.joint_names, t[kept], q, v, current * UR_CONSTANTS, name)

    found = procedure.identify(Columns(arm), [samples(UR_FITTED)])
    bodies = found.bodies
    held_out = {}
    for key, (name, begin_s, end_s) in UR_HELD_OUT.items():
        held_out[key] = {"overall_percent": None, "sliding_percent": None}
        if name in paths:
            other = samples(name, begin_s, end_s)
            sliding = procedure.predict(bodies.columns, bodies.pi, other).overall
            shares = {"overall_percent": with_rest(bodies, other), "sliding_percent": sliding}
            held_out[key] = {figure: round(100.0 * share, 2) for figure, share in shares.items()}
    return {"held_out": held_out, "intervals": between_recordings(arm, [samples(one) for one in UR_PAIRS if one in paths])}


def with_rest(bodies, samples: Samples) -> float:
    """Error as ``Prediction.overall``, but of all samples: while joints rest too."""
    moved = filtering.motion(samples)
    through = filtering.low_pass(bodies.columns.regressor(moved.q, moved.v, moved.a) @ bodies.pi, moved.dt, filtering.CUTOFF_HZ)
    error, effort = (np.mean(x[moved.used] ** 2, axis=0) for x in (through - moved.tau, moved.tau))
    return float(np.sqrt(np.mean(error / effort)))


def between_recordings(arm, recordings: list) -> dict:
    """Share of base parameters of any two recordings, each fitted by itself, that differ by less than their 95 % interval."""
    fits = [procedure.identify(Columns(arm), [one]).base for one in recordings]
    if len(fits) < 2:
        return {"within_percent": None}
    ratios = np.array([(a.beta - b.beta) / np.hypot(a.sd, b.sd) for a, b in itertools.combinations(fits, 2)])
    within, rms = float(np.mean(np.abs(ratios) < 1.96)), float(np.sqrt(np.mean(ratios**2)))
    return {"compared": ratios.size, "within_percent": round(100.0 * within, 1), "rms": round(rms, 2)}


def run(folder: Path) -> dict:
    """All there are recordings for; ready for JSON."""
    logs = servo_logs(folder)
    return {
        "xl330_gain_400": servo(logs.get("xl330", []), lambda _name, log: log.gain == 400.0),
        "sts3250_sin_sin": servo(logs.get("sts3250", []), lambda name, _log: name == "sin_sin"),
        "ur10e": ur10e(folder),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run and print: JSON on standard output, figures against targets on standard error."""
    from benchmarks.__main__ import table

    parser = argparse.ArgumentParser(prog="python -m benchmarks.recordings", description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=Path, metavar="FOLDER", help="where the recordings are")
    options = parser.parse_args(arguments)
    if not options.data.is_dir():
        parser.error(f"--data {options.data}: no such folder; docs/validation.md says which recordings belong there")
    try:
        results = run(options.data)
    except PickerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for name, one in results.items():
        if "not_run" in one:
            print(f"{name} did not run: {one['not_run']}", file=sys.stderr)
    rows = judged(results)
    print(json.dumps({**results, "targets": rows}, indent=2))
    print(table(rows), file=sys.stderr)
    return 0 if any("not_run" not in one for one in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
