"""Calibrated figures as files: a servo-map overlay and a URDF, each number with its uncertainty and where it comes from.

Nothing is written in place: the URDF is a copy of the given one in which only ``<inertial>`` blocks (and limits, if given)
differ, comments and all; the overlay is to be used beside the servo map.  ``check_result`` comes first: ``picker check`` of the
URDF, and whether the servo map goes with it; of a result that fails nothing is written.
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from picker_dynamics.dynamics.check import check
from picker_dynamics.dynamics.cross_check import LIMIT
from picker_dynamics.errors import ConfigurationError, DescriptionError
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_map
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.lint import Finding, link_findings
from picker_dynamics.robot.servo_file import SLIDING
from picker_dynamics.robot.servo_map import LIMIT_TOLERANCE, Servo, ServoMap
from picker_dynamics.robot.units import told

from ..urdf_text import find, inertial
from .instruments import Lay, lay
from .mass_properties import LinkProperties, LinkReadings
from .measured import NORMAL_95, Measured
from .servo_figures import ServoFigures
from .session import backup_name, write_whole

_INERTIAL, _LIMIT = re.compile(r"<inertial\b.*?</inertial>", re.DOTALL), re.compile(r"<limit\b[^>]*>")
_MEASURED = re.compile(r"<!-- limits measured [^>]*-->\s*\Z")

URDF_NAME, OVERLAY_NAME = "arm.urdf", "servos.calibrated.yaml"

MASS_RATIO = (0.6, 1.7)
"""Measured mass over the URDF's beyond which one of them is of other parts: a servo is left off, or weighed twice."""

SAMPLES = 200
"""Random states in which the models are compared."""


def overlay_text(
    servos: ServoMap,
    found: Mapping[str, ServoFigures],
    when: str,
    *,
    before: ServoMap | None = None,
    remarks: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """A servo-map overlay (YAML) with the calibrated figures.

    Args:
        servos: the calibrated map.
        found: with which it was made.
        when: date, for the comment.
        before: the map that the overlay is to be used with; whatever else differs from it is written too: directions, maps,
            rest pose, and the board's oscillator.
        remarks: how a number was found, by (joint, key) of the servo map; ("board", "oscillator_hz") for the board.
    """
    before, remarks = before or servos, remarks or {}
    lines = [f"# Differences from the servo map, found by picker calibrate on {when}.  ±: 95 % interval."]
    if servos.oscillator_hz != before.oscillator_hz:
        remark = remarks.get(("board", "oscillator_hz"), "")
        lines += ["board:", f"  oscillator_hz: {servos.oscillator_hz:.0f}" + (f"  # {remark}" if remark else "")]
    joints, some = [], any(one.stiffness is not None for one in found.values())
    for servo, was in zip(servos.servos, before.servos):
        one, entries = found.get(servo.joint, ServoFigures()), []
        for key, value, comment in _entries(servo, was, one, some):
            comment = "; ".join(filter(None, (comment, remarks.get((servo.joint, key)))))
            entries.append(f"    {key}: {value}" + (f"  # {comment}" if comment else ""))
        if entries:
            joints += [f"  {servo.joint}:" + (f"  # {one.how}" if one.how else ""), *entries]
    return "\n".join([*lines, "joints:", *joints] if joints else [*lines, *(() if len(lines) > 1 else ("joints: {}",))]) + "\n"


def _entries(servo: Servo, was: Servo, one: ServoFigures, some: bool) -> Iterator[tuple[str, str, str]]:
    """Key, YAML and comment of what was set or found, the servo's own; ``some``: the stiffness of some servos was found."""
    way, called, other = servo.per_turn, SLIDING if servo.slides else {}, not one.stiffness and (some or one.zero)
    if servo.direction != was.direction:
        yield "direction", f"{servo.direction}", "turned round"
    if one.scale or servo.horn_angles != was.horn_angles or servo.pulses_us != was.pulses_us:
        yield "pulse_map", _points(servo), one.scale and f"± {100 * NORMAL_95 * one.scale.sd:.2f} % of the angle" or ""
    if servo.deadband_us != was.deadband_us:
        yield "deadband_us", f"{{value: {servo.deadband_us:.4f}, measured: false}}", "all of the gap that was found"
    zero, before = (_horn_deg(each, each.zero) for each in (servo, was))
    if one.zero or zero != before:
        off = one.zero and f"± {_horn_deg(servo, NORMAL_95 * one.zero.sd):.2f}"
        yield called.get("zero_deg", "zero_deg"), f"{zero:.4f}", off or ""
    for key in ("rest", "home"):
        if getattr(servo, key) != getattr(was, key):
            yield called.get(f"{key}_rad", f"{key}_rad"), f"{getattr(servo, key):.4f}", ""
    for key, value, figure, comment in (
        ("load_friction", servo.load_friction, one.load_friction, _interval),
        ("coulomb_nm", servo.coulomb * way, one.coulomb and one.coulomb.times(way), _interval),
        ("play_deg", _horn_deg(servo, servo.play), one.gap and one.gap.times(math.degrees(2.0 / way)), _half_width),
        ("stiffness_nm_rad", servo.stiffness * way**2, one.stiffness and one.stiffness.times(way**2), _of_inverse),
    ):
        known, stiff = key not in (one.assumed if figure else servo.unmeasured), key == "stiffness_nm_rad"
        sd = f", sd: {way**2 * servo.stiffness_sd:.4g}" if stiff and servo.stiffness_sd is not None else ""
        text = f"{value:.4f}" if known and not stiff else f"{{value: {value:.4f}, measured: {str(known).lower()}{sd}}}"
        if figure:
            yield key, text, comment(figure) + ("" if known else ": mostly assumed")
        elif other and not known and not (stiff and (servo.slides or not some)):
            yield key, text, "as those measured, by stall torque" if stiff else "assumed"


def _interval(one: Measured) -> str:
    return "{:.3f} ... {:.3f}".format(*one.interval)


def _half_width(one: Measured) -> str:
    return f"± {NORMAL_95 * one.sd:.2f}, the deadband's error in it"


def _points(servo: Servo) -> str:
    points = zip(servo.horn_angles, servo.pulses_us)
    return f"[{', '.join(f'[{_horn_deg(servo, horn):.4f}, {pulse:.4f}]' for horn, pulse in points)}]"


def _horn_deg(servo: Servo, way: float) -> float:
    """The angle of the horn [deg] that moves the joint so far [rad or m]: files have the servo's own figures."""
    return math.degrees(way / servo.per_turn)


def _of_inverse(one: Measured) -> str:
    """The interval of a stiffness: it is the compliance that is found."""
    off = NORMAL_95 * one.sd / one.value
    return f"{one.value / (1.0 + off):.2f} ... {f'{one.value / (1.0 - off):.2f}' if off < 1.0 else 'any'}"


def urdf_text(
    description: ArmDescription,
    links: Mapping[str, LinkProperties],
    when: str,
    *,
    readings: Mapping[str, LinkReadings] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> str:
    """The URDF's text with measured masses, centres of mass and inertias about the joints' axes.

    What a pendulum about one axis cannot tell, the other two moments, keeps its ratio to the first.

    Args:
        when: date, for the comments.
        readings: from which the properties come, for the comments.
        limits: measured position limits by joint [rad or m]; written inwards to 1e-4.

    Raises:
        DescriptionError: a link whose ``<inertial>``, or a joint whose ``<limit>``, is not found in the text.
    """
    text = description.urdf
    for name, one in links.items():
        link, span = description.links[name], find(text, "link", name, _INERTIAL)
        if span is None:
            raise DescriptionError(f"link {name}: no <inertial> to replace in {description.source}", subject=name)
        text = (
            text[: span[0]] + _inertial(link, lay(description, name), one, when, _counted(name, readings or {})) + text[span[1] :]
        )
    for name, (lower, upper) in (limits or {}).items():
        text = _with_limits(text, name, lower, upper, when, description.source)
    return text


def rewritten(description: ArmDescription, links: Mapping[str, LinkProperties], when: str, **more) -> ArmDescription:
    """The arm of ``urdf_text``, whose arguments these are, with the same tool: the text does not name it."""
    made = parse(urdf_text(description, links, when, **more), description.source)
    return replace(made, tool_frame=description.tool_frame, notes=description.notes)


def _inertial(link, along: Lay, one: LinkProperties, when: str, counted: str) -> str:
    ratio = one.mass.value / link.mass if one.inertia is None else one.inertia.value / along.inertia(link.inertia)
    mass, centre = NORMAL_95 * one.mass.sd, 1e3 * NORMAL_95 * one.distance.sd
    swung = "inertia scaled with the mass" if one.inertia is None else f"inertia ± {NORMAL_95 * one.inertia.sd:.1e} by pendulum"
    told = "; ".join(filter(None, (f"mass ± {mass:.4f} kg, centre ± {centre:.1f} mm, {swung}", counted)))
    com = tuple(along.at(link.com, one.distance.value).tolist())
    return inertial(one.mass.value, com, link.inertia * ratio, f"measured {when}: {told}", ".6f", ".6e")


def _counted(name: str, readings: Mapping[str, LinkReadings]) -> str:
    """How many readings of a link, and of what; "" where they are not known."""
    if name not in readings:
        whole = next((first for first, one in readings.items() if name in one.holds), "")
        return f"by the URDF's share of what was read with {whole}" if whole else ""
    one = readings[name]
    counts = (
        f"{len(one.masses_kg)} weighings",
        f"{len(one.balances_m)} balances" if len(one.balances_m) else "",
        f"{len(one.swing_times_s)} times of {one.swings} swings" if len(one.swing_times_s) else "",
        f"as one with {', '.join(one.holds)}" if one.holds else "",
    )
    return ", ".join(filter(None, counts))


def _with_limits(text: str, joint: str, lower: float, upper: float, when: str, source: str) -> str:
    span = find(text, "joint", joint, _LIMIT)
    if span is None:
        raise DescriptionError(f"joint {joint}: no <limit> to replace in {source}", subject=joint)
    before, limit = _MEASURED.sub("", text[: span[0]]), text[slice(*span)]
    for name, value in (("lower", math.ceil(lower * 1e4) / 1e4), ("upper", math.floor(upper * 1e4) / 1e4)):
        limit, count = re.subn(rf"""(\b{name}=["'])[^"']*(["'])""", rf"\g<1>{value:.4f}\g<2>", limit, count=1)
        if not count:
            raise DescriptionError(f"joint {joint}: its <limit> in {source} has no {name}", subject=joint)
    return f"{before}<!-- limits measured {when} -->\n    {limit}{text[span[1] :]}"


def write(path: str | Path, text: str) -> Path | None:
    """Write a file, whole or not at all; one that is there is kept as ``NAME.1``, ``NAME.2`` …, which is returned."""
    path, backup = Path(path), None
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        backup = backup_name(path)
        shutil.copy2(path, backup)
    write_whole(path, text, backup.stat().st_mode & 0o777 if backup else 0o644)
    return backup


# -- checked before they are written --------------------------------------------------------------------------------------


def check_result(urdf: str, overlay: str | None = None, *, servos: str | Path | None = None) -> list[str]:
    """What to know of a calibrated arm and its servo map by ``picker check``, a line each.

    Args:
        urdf: text of the URDF.
        overlay: text of the servo-map overlay, None: the servo map as it is.
        servos: servo map under the overlay, default config/servos.yaml.

    Raises:
        DescriptionError: the text is no URDF, or fails the check.
    """
    arm = parse(urdf, URDF_NAME)
    report, notes = check(arm, samples=SAMPLES), []
    refused = [str(finding) for finding in report.findings if finding.fatal]
    if report.worst > LIMIT:
        refused.append(f"models of it disagree by {report.worst:.1e}, limit {LIMIT:.0e}")
    try:
        units = dict(zip(arm.joint_names, arm.position_units))
        notes = [
            f"joint {name}: its pulses reach {told(low, units[name])} ... {told(high, units[name])} only; "
            "targets beyond are cut there"
            for name, (low, high) in reachable_limits(arm, _servos(arm.joint_names, overlay, servos)).items()
        ]
    except ConfigurationError as error:
        refused.append(str(error))
    if refused:
        raise DescriptionError(f"the calibrated arm fails picker check, nothing was written: {'; '.join(refused)}")
    return [str(finding) for finding in report.findings] + notes


def reachable_limits(arm: ArmDescription, servos: ServoMap) -> dict[str, tuple[float, float]]:
    """Limits [rad] of the joints whose URDF allows more than the pulses reach, as calibrated; for ``urdf_text``."""
    narrowed = {}
    for joint, servo in zip(arm.movable, servos.servos):
        low, high = servo.pulse_range
        if joint.lower < low - LIMIT_TOLERANCE or joint.upper > high + LIMIT_TOLERANCE:
            narrowed[joint.name] = max(joint.lower, low), min(joint.upper, high)
    return narrowed


def write_result(folder: str | Path, texts: Mapping[str, str]) -> dict[str, Path]:
    """Write files by name; the backups of what was there, by name.

    Raises:
        ConfigurationError: the folder cannot be written.
    """
    backups = {}
    for name, text in texts.items():
        try:
            backups[name] = write(Path(folder) / name, text)
        except OSError as error:
            raise ConfigurationError(
                f"cannot write {Path(folder) / name}: {error.strerror}; what was there is as it was", value=str(folder)
            ) from error
    return {name: backup for name, backup in backups.items() if backup is not None}


def _servos(joint_names: tuple[str, ...], overlay: str | None, servos: str | Path | None) -> ServoMap:
    base = servos or resource("config/servos.yaml")
    if overlay is None:
        return servo_map.load(base, joint_names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / OVERLAY_NAME
        path.write_text(overlay, encoding="utf-8")
        try:
            return servo_map.load(base, joint_names, path)
        except ConfigurationError as error:
            raise ConfigurationError(
                str(error).replace(str(path), OVERLAY_NAME), subject=error.subject, value=error.value, limit=error.limit
            ) from error


def geometry_findings(description: ArmDescription, links: Mapping[str, LinkProperties]) -> tuple[Finding, ...]:
    """Findings of ``picker check`` on the measured links: density of what is drawn, centre of mass inside of it, radius of
    gyration within it, triangle inequality; and masses far from the URDF's.

    Args:
        description: the arm as drawn, with the masses believed before.
        links: what was measured.
    """
    measured = rewritten(description, links, "")
    found: list[Finding] = []
    for name, one in links.items():
        found += link_findings(measured, name)
        found += _mass_findings(name, one, description.links[name].mass)
    return tuple(found)


def _mass_findings(name: str, one: LinkProperties, believed: float) -> Iterator[Finding]:
    ratio = one.mass.value / believed if believed else 1.0
    if not MASS_RATIO[0] <= ratio <= MASS_RATIO[1]:
        yield Finding(
            name,
            "mass",
            f"{one.mass.value:.4g} kg",
            f"{ratio:.2g} times the {believed:g} kg of the URDF: was it "
            f"weighed {'without its servo' if ratio < 1.0 else 'with another link'}, or was the URDF a guess?",
        )
