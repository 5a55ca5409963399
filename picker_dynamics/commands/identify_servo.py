"""``picker identify servo``: figures of one servo from logs of goal and position, as tables, a file and a plot."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path

import numpy as np

from picker_dynamics.estimation.calibration.measured import NORMAL_95
from picker_dynamics.estimation.calibration.session import backup_name
from picker_dynamics.estimation.calibration.write_back import write
from picker_dynamics.estimation.identification import servo_figure, servo_fit, servo_log
from picker_dynamics.estimation.identification.servo_fit import FIGURES, Fit

from . import results
from .identify_verbs import pairs
from .terminal import console as console_of


def servo(options) -> int:
    """Find the figures; nothing is written unless all went well.

    Raises:
        InputError: an option or a log that cannot be used.
    """
    console, fixed = console_of(options, highlight=True), pairs(options, "fix")
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
    plot, backups = out / "servo.png", [write(out / "servo.json", json.dumps(content, indent=2) + "\n")]
    if plot.exists():
        backups.append(plot.rename(backup_name(plot)))
    servo_figure.draw(found, {f"{log.source} (held out)": log for log in others} | {log.source: log for log in logs}, plot)
    if options.json:
        print(json.dumps(content))
    else:
        results.show(content, console)
    kept = [f"what was there is kept as {backup.name}" for backup in backups if backup]
    for line in (*(remark for log in (*logs, *others) for remark in log.remarks), f"written: {out}/servo.json, {plot}", *kept):
        console.print(line, soft_wrap=True)
    return 0


def as_json(found: Fit, errors: dict[str, dict], fixed) -> dict:
    """Figures found of a servo, ready for JSON."""
    figures, servo_map = {}, {}
    for name, figure in FIGURES.items():
        value, interval = found.figures[name], NORMAL_95 * found.sd.get(name, 0.0)
        how = "given" if name in fixed else "assumed" if name not in found.sd else "found" if found.told(name) else "not told"
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
