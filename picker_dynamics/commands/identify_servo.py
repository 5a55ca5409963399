"""``picker identify servo``: figures of one servo from logs of goal and position, as a table and a file."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from picker_dynamics.estimation.calibration.readings import NORMAL_95
from picker_dynamics.estimation.identification import servo_fit
from picker_dynamics.estimation.identification.servo_fit import FIGURES, Fit

from . import results
from .identify_verbs import keep
from .terminal import console as console_of


def servo(options) -> int:
    """Find the figures; nothing is written unless all went well.

    Raises:
        InputError: an option or a log that cannot be used.
    """
    console = console_of(options, highlight=True)
    pendulum = {"mass_kg": options.mass, "length_m": options.length, "rod_mass_kg": options.rod_mass}
    logs, others = ([servo_fit.read_csv(path, **pendulum) for path in paths] for paths in (options.logs, options.hold_out))
    with console.status("finding the figures"):
        found = servo_fit.fit(logs)
        errors = {
            which: {log.source: found.error(log) for log in some} for which, some in (("fitted", logs), ("held_out", others))
        }
    content, path = as_json(found) | {"error_rad": errors}, Path(options.out) / "servo.json"
    if options.json:
        print(json.dumps(content))
    else:
        results.show(content, console)
    keep(path, json.dumps(content, indent=2) + "\n", console)
    return 0


def as_json(found: Fit) -> dict:
    """Figures found of a servo, ready for JSON."""
    told = found.told
    figures = {
        name: {"value": found.figures[name], "interval_95": NORMAL_95 * found.sd[name], "unit": one.unit, "told": told[name]}
        for name, one in FIGURES.items()
    }
    servo_map = {one.key: round(found.figures[name], 6) for name, one in FIGURES.items() if one.key and told[name]}
    if told["stall_torque"] and told["damping"]:
        stall, x, damping = (found.figures[name] for name in ("stall_torque", "load_friction", "damping"))
        servo_map["no_load_speed_rad_s"] = round(stall / ((1.0 - x) * damping), 6)
    at = {"voltage_v": found.voltage or None, "gain": found.gain}
    return {"date": datetime.date.today().isoformat(), "figures": figures, "at": at, "servo_map": servo_map}
