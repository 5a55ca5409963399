"""``picker identify servo``: figures of one servo from logs of goal and position, a table, a file and a plot of them."""

from __future__ import annotations

import datetime
import json
import math
import shutil
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration.measured import NORMAL_95
from picker_dynamics.estimation.calibration.session import backup_name
from picker_dynamics.estimation.calibration.write_back import write
from picker_dynamics.estimation.identification import servo_figure, servo_fit, servo_log
from picker_dynamics.estimation.identification.servo_fit import FIGURES, Fit

from .terminal import console as console_of
from .terminal import table

LEFT = ("figure", "log", "unit", "")


def servo(options) -> int:
    """Find the figures; nothing is written unless all went well.

    Raises:
        InputError: an option or a log that cannot be used.
    """
    console = console_of(options, highlight=True)
    try:
        fixed = {name: float(value) for name, _, value in (text.partition("=") for text in options.fix)}
    except ValueError as error:
        raise InputError(f"--fix must be NAME=NUMBER, for example load_friction=0.4: {error}", "fix") from error
    pendulum = {"mass": options.mass, "length": options.length, "rod_mass": options.rod_mass}
    logs, others = (
        [servo_log.read_csv(path, options.columns, **pendulum, down=math.radians(options.down_deg)) for path in paths]
        for paths in (options.logs, options.hold_out)
    )
    with console.status("finding the figures"):
        found = servo_fit.fit(logs, fixed)
        held_out = {log.source: found.error(log) for log in others} or servo_fit.held_out(logs, fixed, found)
    content = as_json(found, {"fitted": {log.source: found.error(log) for log in logs}, "held_out": held_out}, fixed)
    out = Path(options.out)
    plot, backups = out / "servo.png", {"servo.json": write(out / "servo.json", json.dumps(content, indent=2) + "\n")}
    if plot.exists():
        backups["servo.png"] = backup_name(plot)
        shutil.copy2(plot, backups["servo.png"])
    servo_figure.draw(found, {f"{log.source} (held out)": log for log in others} | {log.source: log for log in logs}, plot)
    remarks = [remark for log in (*logs, *others) for remark in log.remarks]
    kept = [f"{out / name} was there already: kept as {backup.name}" for name, backup in backups.items() if backup]
    for line in (*remarks, *kept):
        console.print(line, soft_wrap=True)
    if options.json:
        print(json.dumps(content))
        return 0
    for shown in _tables(content):
        console.print(shown)
    for line in (*_lines(found, content), f"written: {out}/servo.json, {plot}"):
        console.print(line, soft_wrap=True)
    return 0


def as_json(found: Fit, errors: dict[str, dict], fixed) -> dict:
    """Figures found of a servo, ready for JSON."""
    figures, servo_map = {}, {}
    for name, figure in FIGURES.items():
        value, interval = found.figures[name], NORMAL_95 * found.sd.get(name, 0.0)
        how = "given" if name in fixed else "assumed" if name not in found.sd else "found" if found.told(name) else "not told"
        interval = interval if math.isfinite(interval) else None
        figures[name] = {"value": value, "interval_95": interval, "unit": figure.unit, "how": how}
        if figure.key and how in ("found", "given"):
            servo_map[figure.key] = round(value, 6)
    if {figures[name]["how"] for name in ("stall_torque", "damping")} <= {"found", "given"}:
        stall, x, damping = (found.figures[name] for name in ("stall_torque", "load_friction", "damping"))
        servo_map["no_load_speed_rad_s"] = round(stall / ((1.0 - x) * damping), 6)
    return {
        "date": datetime.date.today().isoformat(),
        "figures": figures,
        "at": {"voltage_v": found.rig.voltage, "gain": found.rig.gain},
        "servo_map": servo_map,
        "error_rad": {
            which: {"mean": float(np.mean([one["mean"] for one in some.values()])), "logs": some}
            for which, some in errors.items()
        },
    }


def _tables(content: dict):
    shown = table("servo", "figure", "found", "± (95 %)", "unit", "", left=LEFT, title_justify="left")
    for name, one in content["figures"].items():
        wide, how = one["interval_95"], one["how"]
        spread = "" if how in ("given", "assumed") or wide is None else f"{wide:.2g}"
        shown.add_row(FIGURES[name].text, f"{one['value']:.4g}", spread, one["unit"], "" if how == "found" else how)
    yield shown
    headings = ("log", "", "mean", "rms", "largest")
    shown = table("error of the model's positions [mrad]", *headings, left=LEFT, title_justify="left", overflow="fold")
    for which, some in content["error_rad"].items():
        for source, one in some["logs"].items():
            shown.add_row(Path(source).name, which.replace("_", " "), *(f"{1e3 * value:.1f}" for value in one.values()))
    yield shown


def _lines(found: Fit, content: dict):
    """What a person should know besides."""
    mean, at = content["error_rad"]["held_out"]["mean"], content["at"]
    yield f"logs that were not fitted are predicted within {1e3 * mean:.1f} mrad ({math.degrees(mean):.2f} deg) on the mean"
    if at["voltage_v"] or at["gain"] != 1.0:
        yield f"stiffness and stall torque are those at {at['voltage_v'] or '?'} V, P gain {at['gain']:g}"
    for name in found.sd:
        value, low, high = found.figures[name], FIGURES[name].low, FIGURES[name].high
        if value >= high * (1.0 - 1e-3) or (low and value <= low * (1.0 - 1e-3)):
            yield f"warning: {name} came out at the end of what it can be, {value:.3g}: are load and units right?"
    if content["servo_map"]:
        yield "in a servo map: " + ", ".join(f"{key}: {value:.4g}" for key, value in content["servo_map"].items())
