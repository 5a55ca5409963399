"""Calibrated figures as files: a servo-map overlay and a URDF, each number with its uncertainty.

Nothing is written in place: the URDF is a copy of the given one in which only ``<inertial>`` blocks and limits differ, comments
and all; the overlay is to be used beside the servo map.  ``check_result`` comes first: of a result that fails nothing is written.
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from picker_dynamics.dynamics.check import check
from picker_dynamics.errors import ConfigurationError, DescriptionError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_map
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.lint import link_findings
from picker_dynamics.robot.servo_map import SLIDING, Servo, ServoMap

from ..urdf_text import find, inertial
from .instruments import lay
from .mass_properties import LinkProperties
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


# -- the servo map's overlay -----------------------------------------------------------------------------------------------


def overlay_text(
    servos: ServoMap, found: Mapping[str, ServoFigures], when: str, *, before: ServoMap | None = None, earlier: str = ""
) -> str:
    """A servo-map overlay (YAML) with the calibrated figures.

    Args:
        servos: the calibrated map.
        found: with which it was made.
        when: date, for the comment.
        before: the map that the overlay is to be used with; what else differs from it is written too: directions, maps, poses.
        earlier: overlay file that was in use; what it has besides is in this one too.
    """
    some = any(one.stiffness is not None for one in found.values())
    old = read_yaml(earlier, "servo map", ConfigurationError) if earlier else {}
    lines = [f"# Differences from the servo map, found by picker calibrate on {when}.  ±: half the 95 % interval."]
    for section in ("board", "defaults"):
        lines += [f"{section}: {_flow(old[section])}  # as before"] if old.get(section) else []
    lines.append("joints:")
    for servo, was in zip(servos.servos, (before or servos).servos):
        one, joint = found.get(servo.joint, ServoFigures()), servo.joint
        entries = {key: (value, comment) for key, value, comment in _entries(servo, was, one, some)}
        for key, value in old.get("joints", {}).get(joint, {}).items():
            entries.setdefault(key, (_flow(value), "as before"))
        lines += [f"  {joint}:" + (f"  # {one.how}" if one.how else "")] if entries else []
        lines += [f"    {key}: {value}" + (f"  # {comment}" if comment else "") for key, (value, comment) in entries.items()]
    return "\n".join(lines if lines[-1] != "joints:" else [*lines[:-1], "joints: {}"]) + "\n"


def _flow(value) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1000).replace("\n...", "").strip()


def _entries(servo: Servo, was: Servo, one: ServoFigures, some: bool) -> Iterator[tuple[str, str, str]]:
    """Key, YAML and comment of what was set or found, the servo's own; ``some``: the stiffness of some servos was found."""
    way, called, other = servo.per_turn, SLIDING if servo.slides else {}, not one.stiffness and (some or one.zero)
    turn = math.degrees(1.0 / way)  # of the horn [deg] for a radian or a metre of the joint: files have the servo's own figures

    def within(figure: Measured | None, unit: float) -> str:
        return f"± {unit * NORMAL_95 * figure.sd:.2g}" if figure else ""

    if servo.direction != was.direction:
        yield "direction", f"{servo.direction}", "turned round"
    if one.scale or servo.horn_angles != was.horn_angles or servo.pulses_us != was.pulses_us:
        points = ", ".join(f"[{turn * horn:.4f}, {pulse:.4f}]" for horn, pulse in zip(servo.horn_angles, servo.pulses_us))
        yield "pulse_map", f"[{points}]", one.scale and f"{within(one.scale, 100.0)} % of the angle" or ""
    if servo.deadband_us != was.deadband_us:
        yield "deadband_us", f"{{value: {servo.deadband_us:.4f}, measured: false}}", "all of the gap that was found"
    if one.zero or servo.zero != was.zero:
        yield "zero_deg", f"{turn * servo.zero:.4f}", within(one.zero, turn)
    for key, value, old in (("rest_rad", servo.rest, was.rest), ("home_rad", servo.home, was.home)):
        if value != old:
            yield called.get(key, key), f"{value:.4f}", ""
    for key, value, figure, unit in (
        ("load_friction", servo.load_friction, one.load_friction, 1.0),
        ("coulomb_nm", servo.coulomb * way, one.coulomb, way),
        ("play_deg", turn * servo.play, one.gap, 2.0 * turn),
        ("stiffness_nm_rad", servo.stiffness * way**2, one.stiffness, way**2),
    ):
        known, stiff = key not in (one.assumed if figure else servo.unmeasured), key == "stiffness_nm_rad"
        sd = f", sd: {unit * servo.stiffness_sd:.4g}" if stiff and servo.stiffness_sd is not None else ""
        text = f"{value:.4f}" if known and not stiff else f"{{value: {value:.4f}, measured: {str(known).lower()}{sd}}}"
        if figure:
            yield key, text, within(figure, unit) + ("" if known else ": mostly assumed")
        elif other and not known and not (stiff and (servo.slides or not some)):
            yield key, text, "as those measured, by stall torque" if stiff else "assumed"


# -- the URDF --------------------------------------------------------------------------------------------------------------


def urdf_text(
    description: ArmDescription,
    links: Mapping[str, LinkProperties],
    when: str,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> str:
    """The URDF's text with measured masses, centres of mass and inertias about the joints' axes.

    What a pendulum about one axis cannot tell, the other two moments, keeps its ratio to the first.

    Args:
        when: date, for the comments.
        limits: measured position limits by joint [rad or m]; written inwards to 1e-4.

    Raises:
        DescriptionError: a link whose ``<inertial>``, or a joint whose ``<limit>``, is not found in the text.
    """
    text = description.urdf
    for name, one in links.items():
        link, along = description.links[name], lay(description, name)
        begin, end = _found(text, "link", name, _INERTIAL, "<inertial>", description.source)
        ratio = one.mass.value / link.mass if one.inertia is None else one.inertia.value / along.inertia(link.inertia)
        mass, centre = NORMAL_95 * one.mass.sd, 1e3 * NORMAL_95 * one.distance.sd
        swung = f"inertia ± {NORMAL_95 * one.inertia.sd:.1e} by pendulum" if one.inertia else "inertia scaled with the mass"
        remark = f"measured {when}: mass ± {mass:.4f} kg, centre ± {centre:.1f} mm, {swung}"
        com = tuple(along.at(link.com, one.distance.value).tolist())
        text = text[:begin] + inertial(one.mass.value, com, link.inertia * ratio, remark, ".6f", ".6e") + text[end:]
    for name, (lower, upper) in (limits or {}).items():
        begin, end = _found(text, "joint", name, _LIMIT, "<limit>", description.source)
        limit = text[begin:end]
        for key, value in (("lower", math.ceil(lower * 1e4) / 1e4), ("upper", math.floor(upper * 1e4) / 1e4)):
            limit, count = re.subn(rf"""(\b{key}=["'])[^"']*(["'])""", rf"\g<1>{value:.4f}\g<2>", limit, count=1)
            if not count:
                raise DescriptionError(f"joint {name}: its <limit> in {description.source} has no {key}", subject=name)
        text = f"{_MEASURED.sub('', text[:begin])}<!-- limits measured {when} -->\n    {limit}{text[end:]}"
    return text


def _found(text: str, tag: str, name: str, inner: re.Pattern, called: str, source: str) -> tuple[int, int]:
    span = find(text, tag, name, inner)
    if span is None:
        raise DescriptionError(f"{tag} {name}: no {called} to replace in {source}", subject=name)
    return span


def rewritten(
    description: ArmDescription,
    links: Mapping[str, LinkProperties],
    when: str = "",
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> ArmDescription:
    """The arm of ``urdf_text``, with the same tool: the text does not name it."""
    made = parse(urdf_text(description, links, when, limits), description.source)
    return replace(made, tool_frame=description.tool_frame, notes=description.notes)


# -- checked, then written -------------------------------------------------------------------------------------------------


def check_result(urdf: str, overlay: str, servos: str | Path = "") -> list[str]:
    """What ``picker check`` finds of a calibrated arm, a line each.

    Args:
        urdf: text of the URDF.
        overlay: text of the servo-map overlay.
        servos: servo map under the overlay, default config/servos.yaml.

    Raises:
        DescriptionError: the text is no URDF, or fails the check, or the servo map does not go with it.
    """
    arm = parse(urdf, URDF_NAME)
    report = check(arm, samples=SAMPLES)
    refused = [] if report.passed() else [str(one) for one in report.findings] or ["its models disagree"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / OVERLAY_NAME
        path.write_text(overlay, encoding="utf-8")
        try:
            servo_map.load(servos or resource("config/servos.yaml"), arm.joint_names, path)
        except ConfigurationError as error:
            refused.append(str(error))
    if refused:
        raise DescriptionError(f"the calibrated arm fails picker check, nothing was written: {'; '.join(refused)}")
    return [str(finding) for finding in report.findings]


def geometry_findings(description: ArmDescription, links: Mapping[str, LinkProperties]) -> list[str]:
    """What of the measured links the drawing or the masses believed before contradict, a line each."""
    measured = rewritten(description, links)
    found = [str(finding) for name in links for finding in link_findings(measured, name)]
    for name, one in links.items():
        ratio = one.mass.value / description.links[name].mass
        if not MASS_RATIO[0] <= ratio <= MASS_RATIO[1]:
            found.append(
                f"link {name}: {ratio:.2g} times as heavy as in the URDF: weighed without its servo, or with another link?"
            )
    return found


def write(path: str | Path, text: str) -> Path | None:
    """Write a file, whole or not at all; one that is there is kept as ``NAME.1``, ``NAME.2`` …, which is returned.

    Raises:
        ConfigurationError: it cannot be written.
    """
    path, backup = Path(path), None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            backup = backup_name(path)
            shutil.copy2(path, backup)
        write_whole(path, text, backup.stat().st_mode & 0o777 if backup else 0o644)
    except OSError as error:
        why = f"cannot write {path}: {error.strerror}; what was there is as it was"
        raise ConfigurationError(why, value=str(path)) from error
    return backup
