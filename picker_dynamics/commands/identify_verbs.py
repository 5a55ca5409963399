"""Handlers of ``picker identify …`` and their tables; loaded only when one is run, as they need SciPy."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, refuse_if
from picker_dynamics.estimation.calibration.measured import NORMAL_95
from picker_dynamics.estimation.calibration.write_back import write
from picker_dynamics.estimation.identification import (
    base,
    excitation,
    fourier,
    identified_urdf,
    limits,
    procedure,
    report,
    sample_files,
)
from picker_dynamics.estimation.identification.columns import DRIVE_UNITS, Columns
from picker_dynamics.estimation.identification.samples import Samples
from picker_dynamics.files.formats import read_json
from picker_dynamics.robot import arms, description

from . import options as shared
from .terminal import console as console_of
from .terminal import table

STILL_S = 0.5
"""Logged before and after the motion."""

APPROACH = 0.5
"""Speed with which the arm goes to the first pose [rad/s or m/s]; the controller slows it further where it has to."""

LEFT = ("link or joint", "joint", "figure", "unit", "")


class Asked:
    """What the options mean: the arm, its name in config/arms.yaml, empty where a URDF takes its place; and whom to tell."""

    def __init__(self, options):
        self.options, self.console = options, console_of(options, highlight=True)
        tip_speed = options.tip_speed
        refuse_if(
            tip_speed is not None and not tip_speed > 0.0,
            f"tip speed is {tip_speed} m/s, must be above 0",
            "tip_speed",
            tip_speed,
        )
        self.name = options.arm or ("" if options.urdf else arms.DEFAULT)
        self.named = arms.load(self.name) if self.name else None
        self.arm = description.load(options.urdf) if options.urdf else self.named.description
        self.tip_speed = tip_speed or (self.named and self.named.tip_speed)

    def tell(self, text: str) -> None:
        """Print a line for a person."""
        self.console.print(text, soft_wrap=True)

    def columns(self) -> Columns:
        """The parameters that are looked for."""
        wanted = {"rotor": self.options.rotors, "offset": self.options.offsets}
        return Columns(self.arm, tuple(kind for kind in DRIVE_UNITS if wanted.get(kind, not self.options.no_friction)))

    def samples(self, path: str) -> Samples:
        """A recording, or the part of it that is asked for."""
        pairs = [text.partition("=")[::2] for text in self.options.torque_constant]
        try:
            constants = {joint: float(value) for joint, value in pairs}
        except ValueError as error:
            raise InputError(f"--torque-constant: must be JOINT=NUMBER: {error}", "torque_constant") from error
        samples = sample_files.read(path, self.arm, constants, self.options.namespace, self.options.columns)
        for remark in samples.remarks:
            self.tell(remark)
        return samples.between(self.options.begin_s, self.options.end_s)

    def excitation(self, columns: Columns, allowed: limits.Limits, seed: int, **trials) -> excitation.Excitation:
        """A motion that tells most, of those about the arm's home pose."""
        home = self.named.home if self.options.arm and self.named.home is not None else allowed.middle
        search = excitation.Search(base.find(columns), allowed, self.options.period)
        return search.run(home, seed, periods=self.options.periods, **trials)

    def keep(self, path: Path, text: str) -> None:
        """Write a file; one that was there is kept."""
        backup = write(path, text)
        if backup is not None:
            self.tell(f"{path} was there already: kept as {backup.name}")

    def keep_fit(self, found: procedure.Identified, sources: list[str], out: Path) -> dict:
        """Write ``identified.urdf`` and ``fit.json``."""
        when = datetime.date.today().isoformat()
        content = report.as_json(found, sources, when)
        self.keep(out / "identified.urdf", identified_urdf.text_of(found, when))
        self.keep(out / "fit.json", json.dumps(content, indent=2) + "\n")
        return content


def excite(options) -> int:
    """Choose a motion and write it."""
    asked = Asked(options)
    allowed, columns = limits.of_arm(asked.name, asked.arm, options.tip_speed, options.servos), asked.columns()
    with asked.console.status("looking for a motion that tells most"):
        found = asked.excitation(columns, allowed, options.seed)
    more = {"tip_speed": allowed.tip_speed, "seed": options.seed}
    asked.keep(Path(options.out), fourier.text(found.motion, found.condition, asked.name, asked.arm, **more))
    said = {
        "file": options.out,
        "condition": found.condition,
        "base_parameters": len(base.find(columns).independent),
        "seconds": found.motion.duration,
    }
    if options.json:
        print(json.dumps(said))
        return 0
    asked.tell(
        f"{options.out}: {found.motion.duration:g} s; condition {found.condition:.1f} for {said['base_parameters']} base "
        f"parameters, tip at most {allowed.tip_speed:g} m/s\nto run it on a running arm: picker identify run {options.out}"
    )
    return 0


def run(options) -> int:
    """Move a running arm through an excitation and write what it measured.

    Raises:
        LinkError: no graph, or one that is not ready.
        JointNamesError: the graph runs another arm.
        GoalRefusedError: the controller refused a motion; with its reason.
        InputError: the arm measures no torque.
    """
    motion = fourier.read(options.motion)
    duration, first = motion.trajectory.duration, motion.trajectory.sample(0.0)[0]
    with shared.client(options) as client:
        running = client.running_arm().description.name
        if motion.arm and running and motion.arm != running:
            raise JointNamesError(f"the motion is for the arm {motion.arm}, and {running} runs", subject="arm", value=running)
        client.wait_holding()
        longest = float(np.abs(client.reference() - first).max())
        if longest > 1e-6:
            print("moving to the first pose", flush=True)
            client.move_through([max(1.0, longest / APPROACH)], [first])
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
    backup = write(Path(options.out), sample_files.csv_text(samples, motion.units))
    kept = f"; what was there is kept as {backup.name}" if backup else ""
    print(f"{options.out}: {len(t)} samples in {samples.t[-1]:.1f} s{kept}")
    return 0


def fit(options) -> int:
    """Find the parameters; nothing is written unless all went well."""
    asked = Asked(options)
    recordings = [asked.samples(path) for path in options.recordings]
    with asked.console.status("finding the parameters"):
        found = procedure.identify(
            asked.columns(),
            recordings,
            cutoff_hz=options.cutoff_hz,
            tip_speed=asked.tip_speed,
            allow_open=options.allow_open,
            try_rotors=options.rotors is None,
        )
    content = asked.keep_fit(found, options.recordings, Path(options.out))
    if options.json:
        print(json.dumps(content))
    else:
        _show_fit(found, asked)
    return 0


def predict(options) -> int:
    """Compare predicted with measured efforts."""
    asked, path = Asked(options), options.fit
    refuse_if(len(options.recordings) > 1, "one recording is compared at a time", "recordings")
    samples = asked.samples(options.recordings[0])
    columns = Columns(asked.arm)
    pi = columns.believed()
    if path != "none":
        try:
            content = read_json(path, "fit")
            drives = tuple(kind for kind in DRIVE_UNITS if kind in content["drives"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} is no result of `picker identify fit`: {type(error).__name__}: {error}", value=path
            ) from error
        columns = Columns(asked.arm, drives)
        pi = report.parameters_of(columns, content)
    result = procedure.predict(columns, pi, samples, cutoff_hz=options.cutoff_hz)
    content = report.prediction_json(result, asked.arm.joint_names)
    if options.json:
        print(json.dumps(content))
    else:
        _show_prediction(content, asked)
    most, error = options.limit_percent, content["overall_percent"]
    return 1 if most is not None and not (error is not None and error <= most) else 0


def rehearse(options) -> int:
    """Excite, measure, fit and predict with a simulated arm; exit code 0 if it predicts better than the URDF."""
    from picker_dynamics.estimation.identification import simulated

    asked, seed, out = Asked(options), options.seed, Path(options.out)
    arm = asked.arm
    allowed, columns = limits.of_arm(asked.name, arm, options.tip_speed, options.servos), Columns(arm)
    with asked.console.status("looking for a motion that tells most") as status:
        motions = asked.excitation(columns, allowed, seed), asked.excitation(columns, allowed, seed + 1, bettered=0)
        status.update("moving the simulated arm")
        truth = simulated.hidden(arm, seed, allowed.tip_speed)
        first, second = (simulated.run(truth, arm, one.motion, seed + i) for i, one in enumerate(motions))
        status.update("finding the parameters")
        found = procedure.identify(columns, [first.samples], tip_speed=allowed.tip_speed)
    asked.keep(out / "excitation.json", fourier.text(*motions[0], options.arm, arm, seed=seed))
    for name, one in (("samples.csv", first), ("other.csv", second)):
        asked.keep(out / name, sample_files.csv_text(one.samples, arm.position_units))
    asked.keep_fit(found, [str(out / "samples.csv")], out)
    urdf, identified = (
        report.prediction_json(procedure.predict(columns, pi, second.samples, truth=second.true_tau), arm.joint_names)
        for pi in (columns.believed(), found.bodies.pi)
    )
    if options.json:
        print(json.dumps({"urdf": urdf, "identified": identified}))
    else:
        _show_fit(found, asked)
        _show_prediction(identified, asked)
        asked.tell(f"against the efforts without noise; with the URDF's numbers: {urdf['overall_percent']:.0f} %")
    return 0 if identified["overall_percent"] < urdf["overall_percent"] else 1


VERBS = {"excite": excite, "run": run, "fit": fit, "predict": predict, "rehearse": rehearse}


def _show_fit(found: procedure.Identified, asked: Asked) -> None:
    """A table of links and joints, and what else a person should know."""
    headings = ("link or joint", "figure", "URDF", "found", "± (95 %)", "unit", "")
    shown, name = table("found", *headings, left=LEFT, title_justify="left", overflow="fold"), ""
    for row in (*report.link_rows(found.bodies), *report.joint_rows(found.bodies)):
        numbers = f"{row.before:.4g}", f"{row.value:.4g}", f"{NORMAL_95 * row.sd:.2g}"
        shown.add_row("" if row.name == name else row.name, row.figure, *numbers, row.unit, "" if row.told else "not told")
        name = row.name
    asked.console.print(shown)
    for line in _lines(found):
        asked.tell(line)
    out = asked.options.out
    asked.tell(f"written: {out}/identified.urdf, {out}/fit.json; to look it over: picker check {out}/identified.urdf")


def _lines(found: procedure.Identified) -> Iterator[str]:
    """How good it is, what was tried, and what a person should look at."""
    bodies, fitted = found.bodies, found.base
    joints = zip(bodies.columns.description.joint_names, 100.0 * found.residual, 100.0 * fitted.systematic)
    left = ", ".join(f"{name} {share:.1f} % ({lacks:.0f} % of it)" for name, share, lacks in joints)
    yield (
        f"{len(fitted.beta)} base parameters from {found.equations} independent samples, condition {fitted.condition:.0f}; "
        f"{fitted.outliers} outliers, {found.spikes} spikes"
    )
    yield f"left unexplained of the (filtered) efforts of moving joints, and how much of that is no noise: {left}"
    yield f"misfit {found.misfit:.2f}: what bodies that can exist leave unexplained, over what free base parameters leave"
    for name in fitted.open:
        yield f"open: {name}"
    if found.odds is not None and math.isnan(found.odds):
        yield "rotors: not looked for, this motion would not tell them from the rest (--rotors looks for them)"
    elif found.odds is not None:
        kept = "explained clearly more, kept" if "rotor" in bodies.columns.drives else "tried, not needed"
        yield f"rotors: {kept}; logarithm of the odds {found.odds:.0f}"
    for link, far in bodies.strained.items():
        yield (
            f"warning: {link} came out far from what the URDF says ({far:.0f} standard deviations): is something missing "
            "(--rotors, a payload), or a torque constant wrong?"
        )


def _show_prediction(content: dict, asked: Asked) -> None:
    def told(value: float | None, unit: str = "") -> str:
        return "-" if value is None else f"{value:.4g}{unit}"

    headings = ("joint", "error", "effort", "unit", "error / effort", "moving", "error at rest", "effort")
    shown = table("predicted against measured, RMS", *headings, left=LEFT, title_justify="left")
    for (name, one), unit in zip(content["joints"].items(), asked.arm.effort_units):
        error, effort, percent, moving, *resting = one.values()
        shown.add_row(name, told(error), told(effort), unit, told(percent, " %"), told(moving, " %"), *map(told, resting))
    asked.console.print(shown)
    moving, resting, everything = (told(content[f"{which}_percent"], " %") for which in ("overall", "resting", "everything"))
    asked.tell(f"overall {moving} while moving, {resting} at rest, where dry friction is anything; {everything} of everything")
