"""Handlers of ``picker identify …`` and their tables; loaded only when one is run, as they need SciPy."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.estimation.calibration.measured import NORMAL_95
from picker_dynamics.estimation.calibration.write_back import write
from picker_dynamics.estimation.identification import (
    base,
    excitation,
    fourier,
    inertia,
    limits,
    procedure,
    report,
    sample_files,
    simulated,
)
from picker_dynamics.estimation.identification.columns import DRIVE_UNITS, Columns
from picker_dynamics.estimation.identification.consistent import LEAVES
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


# -- what the options mean ---------------------------------------------------------------------------------


def _name(options) -> str:
    """Of the arm in config/arms.yaml; empty where a URDF takes its place."""
    return options.arm or ("" if options.urdf else arms.DEFAULT)


def _arm(options) -> description.ArmDescription:
    return description.load(options.urdf) if options.urdf else arms.load(_name(options)).description


def _limits(options, arm: description.ArmDescription) -> limits.Limits:
    return limits.of_options(_name(options), arm, options.tip_speed, options.servos)


def _home(options, allowed: limits.Limits) -> np.ndarray:
    named = arms.load(options.arm) if options.arm else None
    return allowed.middle if named is None or named.home is None else named.home


def _kept(path: Path, text: str, console: Console) -> None:
    backup = write(path, text)
    if backup is not None:
        console.print(f"{path} was there already: kept as {backup.name}", soft_wrap=True)


def _samples(path: str, arm: description.ArmDescription, options, console: Console) -> Samples:
    constants = {}
    for text in options.torque_constant:
        joint, _, value = text.partition("=")
        try:
            constants[joint] = float(value)
        except ValueError as error:
            raise InputError(f"--torque-constant {text!r}: must be JOINT=NUMBER", subject=joint, value=value) from error
    samples = sample_files.read(path, arm, constants, options.namespace, options.columns)
    for remark in samples.remarks:
        console.print(remark, soft_wrap=True)
    return samples.between(options.begin_s, options.end_s)


def _columns(arm: description.ArmDescription, options) -> Columns:
    return Columns.of(arm, friction=not options.no_friction, rotors=bool(options.rotors), offsets=options.offsets)


def _excitation(columns: Columns, allowed: limits.Limits, options, seed: int, **trials) -> excitation.Excitation:
    if seed < 0:
        raise InputError(f"seed is {seed}, must be >= 0", subject="seed", value=seed, limit=0)
    if not 1 <= options.periods <= 1000:
        raise InputError(f"periods is {options.periods}, must be 1 to 1000", subject="periods", value=options.periods, limit=1000)
    search = excitation.Search(base.find(columns), allowed, options.period)
    return search.run(_home(options, allowed), seed, periods=options.periods, **trials)


def _tip_speed(options) -> float | None:
    if options.tip_speed is not None:
        if not 0.0 < options.tip_speed < math.inf:
            raise InputError(
                f"tip speed is {options.tip_speed} m/s, must be above 0", subject="tip_speed", value=options.tip_speed
            )
        return options.tip_speed
    named = arms.load(_name(options)) if _name(options) else None
    return None if named is None else named.tip_speed


# -- the verbs ---------------------------------------------------------------------------------------------


def excite(options) -> int:
    """Choose a motion and write it."""
    console = console_of(options, highlight=True)
    arm = _arm(options)
    allowed, columns = _limits(options, arm), _columns(arm, options)
    with console.status("looking for a motion that tells most"):
        found = _excitation(columns, allowed, options, options.seed)
    text = fourier.text(found.motion, found.condition, _name(options), arm, tip_speed=allowed.tip_speed, seed=options.seed)
    _kept(Path(options.out), text, console)
    said = {
        "file": options.out,
        "condition": found.condition,
        "condition_of_random_motions": found.condition_drawn,
        "base_parameters": base.find(columns).count,
        "seconds": found.motion.duration,
    }
    if options.json:
        print(json.dumps(said))
        return 0
    console.print(
        f"{options.out}: {found.motion.duration:g} s, up to {found.motion.highest_hz:g} Hz; condition "
        f"{found.condition:.1f} (the best random motion: {found.condition_drawn:.1f}) for {said['base_parameters']} "
        f"base parameters, tip at most {allowed.tip_speed:g} m/s",
        soft_wrap=True,
    )
    console.print(f"to run it on a running arm: picker identify run {options.out}", soft_wrap=True)
    return 0


def run(options) -> int:
    """Move a running arm and write what it measured."""
    motion = fourier.read(options.motion)
    console = Console()
    samples = measure(motion, options, tell=lambda text: console.print(text, soft_wrap=True))
    _kept(Path(options.out), sample_files.csv_text(samples, motion.units), console)
    console.print(f"{options.out}: {len(samples.t)} samples in {samples.t[-1]:.1f} s", soft_wrap=True)
    return 0


def measure(motion: fourier.MotionFile, options, tell) -> Samples:
    """Move a running arm through an excitation: go to the first pose, move, come back with the samples.

    Args:
        tell: hears one line of text for a person, several times.

    Raises:
        LinkError: no graph, or one that is not ready.
        JointNamesError: the graph runs another arm.
        GoalRefusedError: the controller refused a motion; with its reason.
        InputError: the arm measures no torque.
    """
    with shared.client(options) as client:
        running = client.running_arm().description.name
        if motion.arm and running and motion.arm != running:
            raise JointNamesError(f"the motion is for the arm {motion.arm}, and {running} runs", subject="arm", value=running)
        client.wait_holding()
        first = motion.q[0]
        longest = float(np.abs(client.reference() - first).max())
        if longest > 1e-6:
            tell("moving to the first pose")
            client.move_through([max(1.0, longest / APPROACH)], [first])
        client.wait_holding()
        took = [0.0]

        def move() -> None:
            client.spin(STILL_S)
            tell(f"moving for {motion.t[-1]:.0f} s")
            took[0] = client.follow(motion.trajectory)
            client.spin(STILL_S)

        t, q, tau = client.log(move)
        if took[0] > 1.01 * motion.t[-1]:
            tell(
                f"the controller slowed it to {took[0]:.1f} s: its tip-speed limit is lower than the one the motion was made for "
                "(picker up --tip-speed)"
            )
        if tau is None:
            raise InputError("joint_states have no efforts: this arm does not measure torque", subject="effort")
        return Samples(motion.joint_names, t - t[0], q, None, tau, "joint_states")


def fit(options) -> int:
    """Find the parameters; nothing is written unless all went well."""
    console = console_of(options, highlight=True)
    arm = _arm(options)
    columns = _columns(arm, options)
    recordings = [_samples(path, arm, options, console) for path in options.recordings]
    with console.status("finding the parameters"):
        found = procedure.identify(
            columns,
            recordings,
            cutoff_hz=options.cutoff_hz,
            tip_speed=_tip_speed(options),
            allow_open=options.allow_open,
            try_rotors=options.rotors is None,
            payload=options.payload,
        )
    content = _write_fit(found, options.recordings, Path(options.out), console)
    if options.json:
        print(json.dumps(content))
    else:
        _show_fit(found, options.out, console)
    return 0


def _write_fit(found: procedure.Identified, sources: list[str], out: Path, console: Console) -> dict:
    when = datetime.date.today().isoformat()
    content = report.as_json(found, sources, when)
    _kept(out / "identified.urdf", report.urdf_text(found, when), console)
    _kept(out / "fit.json", json.dumps(content, indent=2) + "\n", console)
    return content


def predict(options) -> int:
    """Compare predicted with measured efforts."""
    console = console_of(options)
    arm = _arm(options)
    samples = _samples(options.recordings[0], arm, options, console)
    if options.fit == "none":
        columns = Columns.of(arm)
        pi = columns.believed()
    else:
        columns, pi = _fitted(arm, options.fit)
    result = procedure.predict(columns, pi, samples, cutoff_hz=options.cutoff_hz)
    if options.json:
        print(json.dumps(report.prediction_json(result, arm.joint_names)))
    else:
        _show_prediction(result, arm, console)
    return 1 if options.limit_percent is not None and not 100.0 * result.overall <= options.limit_percent else 0


def _fitted(arm: description.ArmDescription, path: str) -> tuple[Columns, np.ndarray]:
    try:
        content = read_json(path, "fit")
        drives = content["drives"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no result of `picker identify fit`: {type(error).__name__}: {error}", value=path) from error
    columns = Columns.of(arm, friction="coulomb" in drives, rotors="rotor" in drives, offsets="offset" in drives)
    return columns, report.parameters_of(columns, content)


def rehearse(options) -> int:
    """Excite, measure, fit and predict with a simulated arm; exit code 0 if it predicts better than the URDF."""
    console = console_of(options, highlight=True)
    arm = _arm(options)
    allowed, columns, out = _limits(options, arm), Columns.of(arm), Path(options.out)
    with console.status("looking for a motion that tells most") as status:
        motion = _excitation(columns, allowed, options, options.seed)
        other = _excitation(columns, allowed, options, options.seed + 1, bettered=0)
        status.update("moving the simulated arm")
        truth = simulated.hidden(arm, options.seed, allowed.tip_speed)
        first, second = (simulated.run(truth, arm, one.motion, options.seed + i) for i, one in enumerate((motion, other)))
        status.update("finding the parameters")
        found = procedure.identify(columns, [first.samples], tip_speed=allowed.tip_speed)
    _kept(out / "excitation.json", fourier.text(motion.motion, motion.condition, options.arm, arm, seed=options.seed), console)
    for name, one in (("samples.csv", first), ("other.csv", second)):
        _kept(out / name, sample_files.csv_text(one.samples, arm.position_units), console)
    _write_fit(found, [str(out / "samples.csv")], out, console)
    urdf, identified = (
        procedure.predict(columns, pi, second.samples, truth=second.true_tau) for pi in (columns.believed(), found.bodies.pi)
    )
    if options.json:
        both = {"urdf": urdf, "identified": identified}
        print(json.dumps({name: report.prediction_json(one, arm.joint_names) for name, one in both.items()}))
    else:
        _show_fit(found, options.out, console)
        _show_prediction(identified, arm, console)
        console.print(
            f"on another motion, against the efforts without noise; with the URDF's numbers: {100.0 * urdf.overall:.0f} %",
            soft_wrap=True,
        )
    return 0 if identified.overall < urdf.overall else 1


VERBS = {"excite": excite, "run": run, "fit": fit, "predict": predict, "rehearse": rehearse}


# -- tables ------------------------------------------------------------------------------------------------


def _table(title: str, *headings: str, **style):
    return table(title, *headings, left=("link", "joint", "figure", "unit", ""), title_justify="left", **style)


def _show_fit(found: procedure.Identified, out, console: Console) -> None:
    """Tables of links, joints and base parameters."""
    columns, bodies, fitted = found.bodies.columns, found.bodies, found.base
    arm = columns.description
    links = _table("links", "link", "figure", "URDF", "found", "± (95 %)", "unit", "", overflow="fold")
    believed = columns.believed()[: columns.bodies].reshape(-1, inertia.COUNT)
    for i, joint in enumerate(arm.movable):
        name, was = joint.child, inertia.figures(believed[i])
        for figure, unit, old, value, sd, before in zip(report.FIGURES, report.FIGURE_UNITS, was, *bodies.figures(i)):
            told = "" if sd < report.UNTOLD * before else "not told"
            links.add_row(name, figure, f"{old:.4g}", f"{value:.4g}", f"{NORMAL_95 * sd:.2g}", unit, told)
            name = ""
    console.print(links)
    if columns.drives:
        drives = _table("joints", "joint", "figure", "found", "± (95 %)", "unit", overflow="fold")
        for i, (name, unit) in enumerate(zip(arm.joint_names, arm.position_units)):
            for kind in columns.drives:
                value, sd = columns.drive(kind, bodies.pi)[i], columns.drive(kind, bodies.sd)[i]
                drives.add_row(name, kind, f"{value:.4g}", f"{NORMAL_95 * sd:.2g}", DRIVE_UNITS[unit][kind])
                name = ""
        console.print(drives)
    left = ", ".join(
        f"{name} {100.0 * share:.1f} % ({100.0 * lacks:.0f} % of it)"
        for name, share, lacks in zip(arm.joint_names, found.residual, fitted.systematic)
    )
    for line in (
        f"{fitted.base.count} base parameters from {found.equations} independent samples, condition "
        f"{fitted.condition:.0f}; {fitted.outliers} outliers, {found.spikes} spikes",
        f"left unexplained of the (filtered) efforts of moving joints, and how much of that is no noise: {left}",
        f"misfit {found.misfit:.2f}: what bodies that can exist leave unexplained, over what free base parameters leave "
        "(1: nothing is lost by that)",
        *(f"open: {name}" for name in fitted.open),
        *_told(found),
        f"written: {out}/identified.urdf, {out}/fit.json; to look it over: picker check {out}/identified.urdf",
    ):
        console.print(line, soft_wrap=True)


def _told(found: procedure.Identified) -> Iterator[str]:
    """What was tried, and what a person should look at."""
    for one in found.trials:
        if math.isnan(one.odds):
            yield f"{one.name}: not looked for, this motion would not tell it from the rest (--{one.name} looks for it)"
        elif one.kept:
            yield f"{one.name}: explained clearly more, kept (logarithm of the odds {one.odds:.0f}); --no-{one.name}: without"
        else:
            yield f"{one.name}: tried, not needed (logarithm of the odds {one.odds:.0f})"
    bodies = found.bodies
    load = report.payload_text(bodies)
    if load:
        link = bodies.columns.description.movable[bodies.carrier].child
        own = bodies.bodies[bodies.carrier][0] - bodies.load_figures()[0][0]
        yield (
            f"payload that the URDF does not have: {load}; {link} is written with it (without: {own:.3g} kg, as far as the URDF "
            "is right)"
        )
    believed = inertia.of_description(bodies.columns.description)
    for joint, far, was, now in zip(bodies.columns.description.movable, bodies.strain, believed[:, 0], bodies.bodies[:, 0]):
        if far > LEAVES:
            yield (
                f"warning: {joint.child} came out far from what the URDF says ({far:.0f} standard deviations; {now:.3g} kg, URDF "
                f"{was:.3g} kg): is something missing (--rotors, --payload), or a torque constant wrong?"
            )


def _show_prediction(result: procedure.Prediction, arm: description.ArmDescription, console: Console) -> None:
    shown = _table(
        "predicted against measured, RMS",
        "joint",
        "error",
        "effort",
        "unit",
        "error / effort",
        "moving",
        "error at rest",
        "effort",
    )
    for i, (name, unit) in enumerate(zip(arm.joint_names, arm.effort_units)):
        shown.add_row(
            name,
            f"{result.error[i]:.4g}",
            f"{result.effort[i]:.4g}",
            unit,
            f"{100.0 * result.shares[i]:.2f} %",
            f"{100.0 * result.moving[i]:.0f} %",
            f"{result.resting_error[i]:.4g}",
            f"{result.resting_effort[i]:.4g}",
        )
    console.print(shown)
    console.print(
        f"overall {100.0 * result.overall:.2f} % while moving, {100.0 * result.resting:.0f} % at rest, where dry friction is "
        f"anything up to its bound; {100.0 * result.everything:.2f} % of everything",
        soft_wrap=True,
    )
