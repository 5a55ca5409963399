"""``picker identify servo``: figures of one servo from logs of goal and position, a table, a file and a plot of them."""

from __future__ import annotations

import datetime
import json
import math
import shutil
from pathlib import Path

import numpy as np
from rich.console import Console

from picker_dynamics.errors import ConfigurationError, InputError
from picker_dynamics.estimation.calibration.measured import NORMAL_95
from picker_dynamics.estimation.calibration.session import backup_name
from picker_dynamics.estimation.calibration.write_back import write
from picker_dynamics.estimation.identification import servo_figure, servo_fit, servo_log
from picker_dynamics.estimation.identification.servo_fit import LIMITS, UNITS, Fit

from .terminal import console as console_of
from .terminal import table

NAMES = {
    "stiffness": "stiffness K of the motor's spring",
    "gap": "half the deadband and half the play",
    "damping": "damping D",
    "load_friction": "load friction x",
    "coulomb": "friction without load tau_c",
    "stall_torque": "stall torque at the output",
    "armature": "rotor inertia",
    "tilt": "tilt of the rig",
    "delay": "delay of the goal",
    "voltage_share": "dependence on the voltage",
}

SERVO_MAP = {
    "stiffness": "stiffness_nm_rad",
    "load_friction": "load_friction",
    "coulomb": "coulomb_nm",
    "stall_torque": "stall_torque_nm",
    "armature": "armature_kg_m2",
}
"""Keys of a servo map."""


def servo(options) -> int:
    """Find the figures; nothing is written unless all went well.

    Raises:
        InputError: an option or a log that cannot be used.
        ConfigurationError: a folder that cannot be written to.
    """
    console = console_of(options, highlight=True)
    fixed = servo_fit.fixed_figures(dict(_fixed(text) for text in options.fix))
    logs, others = ([_read(path, options, console) for path in paths] for paths in (options.logs, options.hold_out))
    with console.status("finding the figures"):
        found = servo_fit.fit(logs, fixed)
        held_out = [servo_fit.error(found, log) for log in others] or servo_fit.held_out(logs, fixed, found)
    errors = {"fitted": [servo_fit.error(found, log) for log in logs], "held_out": held_out}
    content = as_json(found, errors, fixed)
    out = Path(options.out)
    try:
        titled = {f"{log.source} (held out)": log for log in others} | {log.source: log for log in logs}
        _write(found, titled, content, out, console)
    except OSError as error:
        raise ConfigurationError(f"cannot write to {out}: {error.strerror or error}", subject="out", value=str(out)) from error
    if options.json:
        print(json.dumps(content))
    else:
        _show(found, content, out, console)
    return 0


def _fixed(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise InputError(
            f"--fix {text!r}: must be NAME=NUMBER, for example load_friction=0.4", subject=name, value=value
        ) from error


def _read(path: str, options, console: Console) -> servo_log.ServoLog:
    pendulum = {"mass": options.mass, "length": options.length, "rod_mass": options.rod_mass}
    log = servo_log.read_csv(path, options.columns, **pendulum, down=math.radians(options.down_deg))
    for remark in log.remarks:
        console.print(remark, soft_wrap=True)
    return log


def as_json(found: Fit, errors: dict[str, list[servo_fit.Error]], fixed) -> dict:
    """Figures found of a servo, ready for JSON."""
    figures = {}
    for name, unit in UNITS.items():
        sd = found.sd.get(name, 0.0)
        how = "given" if name in fixed else "assumed" if name not in found.sd else "found" if found.told(name) else "not told"
        interval = NORMAL_95 * sd if math.isfinite(sd) else None
        figures[name] = {"value": found.figures[name], "interval_95": interval, "unit": unit, "how": how}
    known = {name for name, one in figures.items() if one["how"] in ("found", "given")}
    servo_map = {key: round(found.figures[name], 6) for name, key in SERVO_MAP.items() if name in known}
    if {"stall_torque", "damping"} <= known:
        speed = found.figures["stall_torque"] / ((1.0 - found.figures["load_friction"]) * found.figures["damping"])
        servo_map["no_load_speed_rad_s"] = round(speed, 6)
    return {
        "date": datetime.date.today().isoformat(),
        "figures": figures,
        "at": {"voltage_v": found.rig.voltage, "gain": found.rig.gain},
        "servo_map": servo_map,
        "error_rad": {
            which: {
                "mean": float(np.mean([one.mean for one in some])),
                "logs": {one.source: {"mean": one.mean, "rms": one.rms, "largest": one.largest} for one in some},
            }
            for which, some in errors.items()
        },
    }


def _write(found: Fit, logs: dict[str, servo_log.ServoLog], content: dict, out: Path, console: Console) -> None:
    out.mkdir(parents=True, exist_ok=True)
    plot = out / "servo.png"
    backups = {out / "servo.json": write(out / "servo.json", json.dumps(content, indent=2) + "\n")}
    if plot.exists():
        backups[plot] = backup_name(plot)
        shutil.copy2(plot, backups[plot])
    servo_figure.draw(found, logs, plot)
    for path, backup in backups.items():
        if backup is not None:
            console.print(f"{path} was there already: kept as {backup.name}", soft_wrap=True)


def _show(found: Fit, content: dict, out: Path, console: Console) -> None:
    figures = table("servo", "figure", "found", "± (95 %)", "unit", "", left=("figure", "unit", ""), title_justify="left")
    for name, one in content["figures"].items():
        wide = one["interval_95"]
        spread = "" if one["how"] in ("given", "assumed") or wide is None else f"{wide:.2g}"
        figures.add_row(NAMES[name], f"{one['value']:.4g}", spread, one["unit"], "" if one["how"] == "found" else one["how"])
    console.print(figures)
    shown = table(
        "error of the model's positions",
        "log",
        "",
        "mean",
        "rms",
        "largest",
        left=("log", ""),
        title_justify="left",
        overflow="fold",
    )
    for which, some in content["error_rad"].items():
        for source, one in some["logs"].items():
            shown.add_row(
                Path(source).name,
                which.replace("_", " "),
                *(f"{1e3 * one[kind]:.1f} mrad" for kind in ("mean", "rms", "largest")),
            )
    console.print(shown)
    for line in _said(found, content):
        console.print(line, soft_wrap=True)
    console.print(f"written: {out}/servo.json, {out}/servo.png", soft_wrap=True)


def _said(found: Fit, content: dict):
    """What a person should know besides."""
    mean = content["error_rad"]["held_out"]["mean"]
    yield f"logs that were not fitted are predicted within {1e3 * mean:.1f} mrad ({math.degrees(mean):.2f} deg) on the mean"
    at = [
        f"{value:g}{unit}"
        for value, unit in ((found.rig.voltage, " V"), (found.rig.gain, " of P gain"))
        if value not in (None, 1.0)
    ]
    if at:
        yield f"stiffness and stall torque are those at {', '.join(at)}"
    if content["figures"]["voltage_share"]["how"] == "assumed":
        yield "the logs do not tell how voltage counts: in proportion is assumed"
    for name in found.sd:
        value, (low, high) = found.figures[name], LIMITS[name]
        if value >= high * (1.0 - 1e-3) or (low and value <= low * (1.0 - 1e-3)):
            yield (
                f"warning: {name} came out at the end of what it can be, {value:.3g}: is the load right (--mass, --length, "
                "--down-deg), and the goal's unit?"
            )
    if content["servo_map"]:
        yield "in a servo map: " + ", ".join(f"{key}: {value:.4g}" for key, value in content["servo_map"].items())
