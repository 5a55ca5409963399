"""Verbs of ``picker identify`` for arms that measure torque; loaded only when one is run, as they need SciPy."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, refuse_if
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
from . import results
from .terminal import console as console_of

STILL_S = 0.5
"""Logged before and after the motion."""

APPROACH = 0.5
"""Speed with which the arm goes to the first pose [rad/s or m/s]; the controller slows it further where it has to."""

DETAILS = "when", "sources", "joint_names", "drives", "parameters", "parameters_sd", "base_parameters", "noise"
"""Of a fit, what is in its file and not on the screen."""


class Asked:
    """What the options mean: the arm, its name in config/arms.yaml, empty where a URDF takes its place; and whom to tell."""

    def __init__(self, options):
        self.options, self.console, speed = options, console_of(options, highlight=True), options.tip_speed
        refuse_if(speed is not None and not speed > 0.0, f"tip speed is {speed} m/s, must be above 0", "tip_speed", speed)
        self.name = options.arm or ("" if options.urdf else arms.DEFAULT)
        named = arms.load(self.name) if self.name else None
        self.arm = description.load(options.urdf) if options.urdf else named.description
        self.tip_speed, self.home = speed or (named and named.tip_speed), named.home if options.arm and named else None

    def tell(self, text: str) -> None:
        """Print a line for a person."""
        self.console.print(text, soft_wrap=True)

    def columns(self) -> Columns:
        """The parameters that are looked for."""
        wanted = {"rotor": self.options.rotors, "offset": self.options.offsets}
        return Columns(self.arm, tuple(kind for kind in DRIVE_UNITS if wanted.get(kind, not self.options.no_friction)))

    def samples(self, path: str) -> Samples:
        """A recording, or the part of it that is asked for."""
        samples = sample_files.read(
            path, self.arm, pairs(self.options, "torque_constant"), self.options.namespace, self.options.columns
        )
        for remark in samples.remarks:
            self.tell(remark)
        return samples.between(self.options.begin_s, self.options.end_s)

    def search(self, columns: Columns) -> excitation.Search:
        """Looks for motions that tell most."""
        allowed = limits.of_arm(self.name, self.arm, self.options.tip_speed, self.options.servos)
        return excitation.Search(base.find(columns), allowed, self.options.period)

    def keep(self, path: Path, text: str) -> None:
        """Write a file; one that was there is kept."""
        backup = write(path, text)
        self.tell(f"written: {path}" + (f"; what was there is kept as {backup.name}" if backup else ""))

    def keep_fit(self, found: procedure.Identified, sources: list[str]) -> dict:
        """Write ``identified.urdf`` and ``fit.json``, and show what is in them."""
        out, when = Path(self.options.out), datetime.date.today().isoformat()
        content = report.as_json(found, sources, when)
        if not self.options.json:
            results.show(content, self.console, DETAILS)
        for link, far in found.bodies.strained.items():
            self.tell(
                f"warning: {link} came out {far:.0f} standard deviations from the URDF: is a payload or torque constant missing?"
            )
        self.keep(out / "identified.urdf", identified_urdf.text_of(found, when))
        self.keep(out / "fit.json", json.dumps(content, indent=2) + "\n")
        return content

    def finish(self, content: dict, shown: bool = False) -> None:
        """Print a result, unless a person was ``shown`` it."""
        if self.options.json:
            print(json.dumps(content))
        elif not shown:
            results.show(content, self.console)


def pairs(options, name: str) -> dict[str, float]:
    """Numbers of an option that is given as NAME=NUMBER."""
    try:
        return {key: float(value) for key, _, value in (text.partition("=") for text in getattr(options, name))}
    except ValueError as error:
        raise InputError(f"--{name.replace('_', '-')}: must be NAME=NUMBER: {error}", name) from error


def excite(options) -> int:
    """Choose a motion and write it."""
    asked = Asked(options)
    search = asked.search(asked.columns())
    with asked.console.status("looking for a motion that tells most"):
        found = search.run(asked.home, options.seed, periods=options.periods)
    more = {"tip_speed": search.validator.tip_speed, "seed": options.seed}
    asked.keep(Path(options.out), fourier.text(*found, asked.name, asked.arm, **more))
    count = len(search.base.independent)
    asked.finish({"file": options.out, "condition": found.condition, "base_parameters": count, "seconds": found.motion.duration})
    asked.tell(f"to run it on a running arm: picker identify run {options.out}")
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
    asked.finish(asked.keep_fit(found, options.recordings), shown=True)
    return 0


def predict(options) -> int:
    """Compare predicted with measured efforts."""
    asked, columns = Asked(options), None
    refuse_if(len(options.recordings) > 1, "one recording is compared at a time", "recordings")
    samples = asked.samples(options.recordings[0])
    if options.fit == "none":
        columns = Columns(asked.arm)
        pi = columns.believed()
    else:
        columns, pi = report.parameters_of(read_json(options.fit, "fit"), asked.arm)
    content = report.prediction_json(procedure.predict(columns, pi, samples, cutoff_hz=options.cutoff_hz), asked.arm.joint_names)
    asked.finish(content)
    most, error = options.limit_percent, content["overall_percent"]
    return 1 if most is not None and not (error is not None and error <= most) else 0


def rehearse(options) -> int:
    """Excite, measure, fit and predict with a simulated arm; exit code 0 if it predicts better than the URDF."""
    from picker_dynamics.estimation.identification import simulated

    asked, seed, out = Asked(options), options.seed, Path(options.out)
    arm, columns = asked.arm, Columns(asked.arm)
    search = asked.search(columns)
    with asked.console.status("looking for a motion that tells most") as status:
        motions = [
            search.run(asked.home, seed + i, periods=options.periods, **more) for i, more in enumerate(({}, {"bettered": 0}))
        ]
        status.update("moving the simulated arm")
        truth = simulated.hidden(arm, seed, search.validator.tip_speed)
        first, second = (simulated.run(truth, arm, one.motion, seed + i) for i, one in enumerate(motions))
        status.update("finding the parameters")
        found = procedure.identify(columns, [first.samples], tip_speed=search.validator.tip_speed)
    asked.keep(out / "excitation.json", fourier.text(*motions[0], options.arm, arm, seed=seed))
    for name, one in (("samples.csv", first), ("other.csv", second)):
        asked.keep(out / name, sample_files.csv_text(one.samples, arm.position_units))
    asked.keep_fit(found, [str(out / "samples.csv")])
    urdf, identified = (
        report.prediction_json(procedure.predict(columns, pi, second.samples, truth=second.true_tau), arm.joint_names)
        for pi in (columns.believed(), found.bodies.pi)
    )
    asked.finish({"urdf": urdf, "identified": identified})
    return 0 if identified["overall_percent"] < urdf["overall_percent"] else 1


VERBS = {"excite": excite, "run": run, "fit": fit, "predict": predict, "rehearse": rehearse}
