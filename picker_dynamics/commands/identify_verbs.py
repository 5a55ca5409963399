"""Verbs of ``picker identify``; loaded only when one is run, as they need SciPy."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, refuse_if
from picker_dynamics.estimation.calibration.readings import NORMAL_95
from picker_dynamics.estimation.calibration.write_back import write
from picker_dynamics.estimation.identification import base, excitation, identified_urdf, procedure, report, servo_fit
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.samples import Samples, csv_text, read_samples
from picker_dynamics.estimation.identification.servo_fit import FIGURES, Fit
from picker_dynamics.files.formats import read_json
from picker_dynamics.robot import description
from picker_dynamics.robot.arms import Arm
from picker_dynamics.scripting.equipment import Equipment, equipment

from . import options as shared
from . import results
from .terminal import console as console_of

STILL_S = 0.5
"""Logged before and after the motion."""

APPROACH = 0.5
"""Speed with which the arm goes to the first pose [rad/s or m/s]; the controller slows it further where it has to."""

TORQUE_ARM: dict[str, Any] = {"peak_share": 0.8, "hold_share": 0.6, "tip_speed": 0.5}
"""Of an arm that stands in no file; as the defaults of config/arms.yaml."""

DETAILS = "when", "sources", "joint_names", "drives", "parameters", "parameters_sd", "base_parameters", "noise"
"""Of a fit, what is in its file and not on the screen."""


class Asked:
    """What the options mean: the arm, its name in config/arms.yaml or empty (a URDF alone says what it is), and whom to tell."""

    def __init__(self, options):
        self.options, self.console, speed = options, console_of(options, highlight=True), options.tip_speed
        refuse_if(speed is not None and not speed > 0.0, f"tip speed is {speed} m/s, must be above 0", "tip_speed", speed)
        known = equipment(options.arm) if options.arm or not options.urdf else None
        self.name, self.home = known.description.name if known else "", known.home if known and options.arm else None
        self.tip_speed = speed or (known and known.torque and known.torque.tip_speed)
        if known is None or options.urdf:
            arm = description.load(options.urdf)
            torque = Arm(arm.name, arm, "torque", **TORQUE_ARM) if known is None else known.torque
            torque = torque and replace(torque, description=arm)
            known = replace(known, description=arm, torque=torque) if known else Equipment(arm, torque=torque)
        self.known, self.arm = known, known.description

    def samples(self, path: str) -> Samples:
        """A recording."""
        try:
            pairs = (text.partition("=") for text in self.options.torque_constant)
            constants = {joint: float(value) for joint, _, value in pairs}
        except ValueError as error:
            raise InputError(f"--torque-constant: must be NAME=NUMBER: {error}", "torque_constant") from error
        return read_samples(path, self.arm, constants, self.options.namespace)

    def show(self, content: dict, leave: tuple[str, ...] = ()) -> None:
        """Print a result, but for entries that are left to its file."""
        if self.options.json:
            print(json.dumps(content))
        else:
            results.show(content, self.console, leave)


def keep(path: Path, text: str, console) -> None:
    """Write a file, and say so; one that was there is kept."""
    backup = write(path, text)
    console.print(f"written: {path}" + (f"; what was there is kept as {backup.name}" if backup else ""), soft_wrap=True)


def excite(options) -> int:
    """Choose a motion and write it."""
    asked = Asked(options)
    allowed = asked.known.validator(tip_speed=options.tip_speed)
    search = excitation.Search(base.find(Columns(asked.arm)), allowed, options.period)
    with asked.console.status("looking for a motion that tells most"):
        found = search.run(asked.home, options.seed, periods=options.periods)
    text = excitation.text(*found, asked.name, asked.arm, tip_speed=allowed.tip_speed, seed=options.seed)
    keep(Path(options.out), text, asked.console)
    count = len(search.base.independent)
    asked.show({"file": options.out, "condition": found.condition, "base_parameters": count, "seconds": found.motion.duration})
    asked.console.print(f"to run it on a running arm: picker identify run {options.out}", soft_wrap=True)
    return 0


def run(options) -> int:
    """Move a running arm through an excitation and write what it measured.

    Raises:
        LinkError: no graph, or one that is not ready.
        JointNamesError: the graph runs another arm.
        GoalRefusedError: the controller refused a motion; with its reason.
        InputError: the arm measures no torque.
    """
    motion = excitation.read(options.motion)
    duration, first = motion.trajectory.duration, motion.trajectory.sample(0.0)[0]
    with shared.client(options) as client, client.asking():
        running = client.running_arm().description.name
        if motion.arm and running and motion.arm != running:
            raise JointNamesError(f"the motion is for the arm {motion.arm}, and {running} runs", "arm", running)
        client.wait_holding()
        longest = float(np.abs(client.reference() - first).max())
        if longest > 1e-6:
            print("moving to the first pose", flush=True)
            client.move_to(max(1.0, longest / APPROACH), first)
        client.wait_holding()
        took = []

        def move() -> None:
            client.spin(STILL_S)
            print(f"moving for {duration:.0f} s", flush=True)
            took.append(client.follow(motion.trajectory))
            client.spin(STILL_S)

        t, q, tau = client.log(move)
    if took[0] > 1.01 * duration:
        print(f"the controller slowed it to {took[0]:.1f} s: it allows less tip speed (picker up --tip-speed)")
    refuse_if(tau is None, "joint_states have no efforts: this arm does not measure torque", "effort")
    samples = Samples(motion.trajectory.joint_names, t - t[0], q, None, tau, "joint_states")
    keep(Path(options.out), csv_text(samples, motion.units), console_of(options))
    print(f"{len(t)} samples in {samples.t[-1]:.1f} s")
    return 0


def fit(options) -> int:
    """Find the parameters, and write ``identified.urdf`` and ``fit.json``; nothing unless all went well."""
    asked = Asked(options)
    recordings = [asked.samples(path) for path in options.recordings]
    how = {"cutoff_hz": options.cutoff_hz, "tip_speed": asked.tip_speed, "allow_open": options.allow_open}
    with asked.console.status("finding the parameters"):
        found = procedure.identify(Columns(asked.arm), recordings, **how)
    out, when = Path(options.out), datetime.date.today().isoformat()
    content = report.as_json(found, options.recordings, when)
    asked.show(content, DETAILS)
    for link, far in found.bodies.strained.items():
        warning = (
            f"warning: {link} came out {far:.0f} standard deviations from the URDF: is a payload or torque constant missing?"
        )
        asked.console.print(warning, soft_wrap=True)
    keep(out / "identified.urdf", identified_urdf.text_of(found, when), asked.console)
    keep(out / "fit.json", json.dumps(content, indent=2) + "\n", asked.console)
    return 0


def predict(options) -> int:
    """Compare predicted with measured efforts."""
    asked = Asked(options)
    samples, columns = asked.samples(options.recording), Columns(asked.arm)
    pi = columns.believed()
    if options.fit != "none":
        columns, pi = report.parameters_of(read_json(options.fit, "fit"), asked.arm)
    found = procedure.predict(columns, pi, samples, cutoff_hz=options.cutoff_hz)
    asked.show(report.prediction_json(found, asked.arm.joint_names))
    return 0


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


VERBS = {"excite": excite, "run": run, "fit": fit, "predict": predict, "servo": servo}
