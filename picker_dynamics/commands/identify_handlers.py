"""What each ``picker identify …`` does; loaded only then, as it needs SciPy."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path

import numpy as np
from rich.console import Console

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration.write_back import write
from picker_dynamics.estimation.identification import bag, base, csv_file, limits, motion_file, procedure, report
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.excitation import Excitation, Search
from picker_dynamics.estimation.identification.limits import Limits
from picker_dynamics.estimation.identification.samples import Samples
from picker_dynamics.robot import arms, description
from picker_dynamics.robot.description import ArmDescription


def _arm(options) -> ArmDescription:
    if options.urdf:
        return description.load(options.urdf)
    return arms.load(options.arm or arms.DEFAULT).description


def _limits(options, arm: ArmDescription) -> Limits:
    name = options.arm or ("" if options.urdf else arms.DEFAULT)
    return limits.of_options(name, arm, options.tip_speed, options.servos)


def _home(options, allowed: Limits) -> np.ndarray:
    named = arms.load(options.arm) if options.arm else None
    return allowed.middle if named is None or named.home is None else named.home


def _kept(path: Path, text: str, console: Console) -> None:
    backup = write(path, text)
    if backup is not None:
        console.print(f"{path} was there already: kept as {backup.name}", soft_wrap=True)


def _constants(options) -> dict[str, float]:
    constants = {}
    for text in options.torque_constant:
        joint, _, value = text.partition("=")
        try:
            constants[joint] = float(value)
        except ValueError as error:
            raise InputError(f"--torque-constant {text!r}: must be JOINT=NUMBER", subject=joint, value=value) from error
    return constants


def _samples(path: str, arm: ArmDescription, options) -> Samples:
    constants = _constants(options)
    if Path(path).suffix.lower() == ".csv":
        read = csv_file.read(path, arm, constants)
    else:
        read = bag.read(path, arm, options.namespace).times_constants(constants)
    return read.between(options.begin_s, options.end_s)


def _columns(arm: ArmDescription, options) -> Columns:
    return Columns.of(arm, friction=not options.no_friction, rotors=options.rotors, offsets=options.offsets)


def _excitation(columns: Columns, allowed: Limits, home: np.ndarray, options, seed: int, **trials) -> Excitation:
    if seed < 0:
        raise InputError(f"seed is {seed}, must be >= 0", subject="seed", value=seed, limit=0)
    if not 1 <= options.periods <= 1000:
        raise InputError(f"periods is {options.periods}, must be 1 to 1000", subject="periods", value=options.periods, limit=1000)
    search = Search(base.find(columns), allowed, options.period)
    return search.run(home, seed, periods=options.periods, **trials)


def excite(options) -> int:
    """Choose a motion and write it."""
    console = Console(stderr=options.json)
    arm = _arm(options)
    allowed, columns = _limits(options, arm), _columns(arm, options)
    with console.status("looking for a motion that tells most"):
        found = _excitation(columns, allowed, _home(options, allowed), options, options.seed)
    name = options.arm or ("" if options.urdf else arms.DEFAULT)
    _kept(Path(options.out), motion_file.text(found, name, arm, tip_speed=allowed.tip_speed, seed=options.seed), console)
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
    from picker_dynamics.bringup.bringup import require_namespace

    from .identify_live import run as run_live

    require_namespace(options.namespace)
    motion = motion_file.read(options.motion)
    console = Console()
    samples = run_live(motion, options.namespace, tell=lambda text: console.print(text, soft_wrap=True))
    _kept(Path(options.out), csv_file.text(samples, motion.units), console)
    console.print(f"{options.out}: {len(samples.t)} samples in {samples.t[-1]:.1f} s", soft_wrap=True)
    return 0


def fit(options) -> int:
    """Find the parameters; nothing is written unless all went well."""
    console = Console(stderr=options.json)
    arm = _arm(options)
    columns = _columns(arm, options)
    recordings = [_samples(path, arm, options) for path in options.recordings]
    with console.status("finding the parameters"):
        found = procedure.identify(
            columns, recordings, cutoff_hz=options.cutoff_hz, tip_speed=_tip_speed(options), allow_open=options.allow_open
        )
    _write_fit(found, options.recordings, Path(options.out), console, options.json)
    return 0


def _tip_speed(options) -> float:
    if options.tip_speed is not None:
        if not 0.0 < options.tip_speed < math.inf:
            raise InputError(
                f"tip speed is {options.tip_speed} m/s, must be above 0", subject="tip_speed", value=options.tip_speed
            )
        return options.tip_speed
    named = arms.load(options.arm or arms.DEFAULT) if options.arm or not options.urdf else None
    return math.inf if named is None or named.tip_speed is None else named.tip_speed


def _write_fit(found, sources, out: Path, console: Console, as_json: bool) -> dict:
    when = datetime.date.today().isoformat()
    content = report.as_json(found, [str(path) for path in sources], when)
    urdf = report.urdf_text(found, when)
    _kept(out / "identified.urdf", urdf, console)
    _kept(out / "fit.json", json.dumps(content, indent=2) + "\n", console)
    if as_json:
        print(json.dumps(content))
    else:
        report.show(console, found)
        console.print(
            f"written: {out}/identified.urdf, {out}/fit.json; to look it over: picker check {out}/identified.urdf", soft_wrap=True
        )
    return content


def predict(options) -> int:
    """Compare predicted with measured efforts."""
    console = Console(stderr=options.json)
    arm = _arm(options)
    samples = _samples(options.recordings[0], arm, options)
    if options.fit == "none":
        columns = Columns.of(arm)
        pi = columns.believed()
    else:
        columns, pi = _fitted(arm, options.fit)
    result = procedure.predict(columns, pi, samples, cutoff_hz=options.cutoff_hz)
    if options.json:
        print(json.dumps(report.prediction_json(result, arm.joint_names)))
    else:
        report.show_prediction(console, result, arm)
    return 1 if options.limit_percent is not None and 100.0 * result.overall > options.limit_percent else 0


def _fitted(arm: ArmDescription, path: str) -> tuple[Columns, np.ndarray]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        drives = content["drives"]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no result of `picker identify fit`: {type(error).__name__}: {error}", value=path) from error
    columns = Columns.of(arm, friction="coulomb" in drives, rotors="rotor" in drives, offsets="offset" in drives)
    return columns, report.parameters_of(columns, content)


def rehearse(options) -> int:
    """Excite, measure, fit and predict with a simulated arm; exit code 0 if it predicts better than the URDF."""
    from picker_dynamics.estimation.identification import simulated

    console = Console(stderr=options.json)
    arm = _arm(options)
    allowed, columns, out = _limits(options, arm), Columns.of(arm), Path(options.out)
    home = _home(options, allowed)
    with console.status("looking for a motion that tells most") as status:
        motion = _excitation(columns, allowed, home, options, options.seed)
        other = _excitation(columns, allowed, home, options, options.seed + 1, bettered=0)
        status.update("moving the simulated arm")
        truth = simulated.hidden(arm, options.seed, allowed.tip_speed)
        first, second = (simulated.run(truth, arm, one.motion, options.seed + i) for i, one in enumerate((motion, other)))
        status.update("finding the parameters")
        found = procedure.identify(columns, [first.samples], tip_speed=allowed.tip_speed)
    units = arm.position_units
    _kept(out / "excitation.json", motion_file.text(motion, options.arm, arm, seed=options.seed), console)
    _kept(out / "samples.csv", csv_file.text(first.samples, units), console)
    _kept(out / "other.csv", csv_file.text(second.samples, units), console)
    content = (
        _write_fit(found, [out / "samples.csv"], out, console, False)
        if not options.json
        else report.as_json(found, [str(out / "samples.csv")], datetime.date.today().isoformat())
    )
    results = {
        name: procedure.predict(columns, pi, second.samples, truth=second.true_tau)
        for name, pi in (("urdf", columns.believed()), ("identified", found.bodies.pi))
    }
    if options.json:
        _kept(out / "identified.urdf", report.urdf_text(found, content["when"]), console)
        _kept(out / "fit.json", json.dumps(content, indent=2) + "\n", console)
        print(json.dumps({name: report.prediction_json(one, arm.joint_names) for name, one in results.items()}))
    else:
        report.show_prediction(console, results["identified"], arm)
        console.print(
            f"on another motion, against the efforts without noise; with the URDF's numbers: "
            f"{100.0 * results['urdf'].overall:.0f} %",
            soft_wrap=True,
        )
    return 0 if results["identified"].overall < results["urdf"].overall else 1
