"""Calibrated figures as files: a servo-map overlay and a URDF.

Nothing is written in place: the URDF is a copy of the given one in which only ``<inertial>`` blocks and limits differ, comments
and all; the overlay is to be used beside the servo map.  ``check_result`` comes first: of a result that fails nothing is written.
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from picker_dynamics.camera.pinhole import Camera
from picker_dynamics.dynamics.check import check
from picker_dynamics.errors import ConfigurationError, DescriptionError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_map
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.servo_map import SLIDING, Servo, ServoMap

from ..urdf_text import inertial, places
from .arm_estimate import LinkProperties
from .instruments import lay
from .session import backup_name, write_whole

URDF_NAME, OVERLAY_NAME = "arm.urdf", "servos.calibrated.yaml"

SAMPLES = 200
"""Random states in which the models are compared."""


# -- the servo map's overlay -----------------------------------------------------------------------------------------------


def overlay_text(servos: ServoMap, when: str, *, before: ServoMap, earlier: str = "") -> str:
    """A servo-map overlay (YAML) with the calibrated figures.

    Args:
        servos: the calibrated map.
        when: date, for the comment.
        before: the map that the overlay is to be used with; what differs from it is written.
        earlier: overlay file that was in use; what it has besides is in this one too.
    """
    old, joints = read_yaml(earlier, "servo map", ConfigurationError) if earlier else {}, {}
    for servo, was in zip(servos.servos, before.servos):
        now, then = _entries(servo), {} if earlier else _entries(was)
        changed = {key: value for key, value in now.items() if value != then.get(key)}
        if entries := {**old.get("joints", {}).get(servo.joint, {}), **changed}:
            joints[servo.joint] = entries
    content = {name: old[name] for name in ("board", "defaults") if old.get(name)} | {"joints": joints}
    said = f"# Differences from the servo map, found by picker calibrate on {when}; how sure each is, report.json says.\n"
    return said + yaml.safe_dump(content, default_flow_style=None, sort_keys=False, width=130)


def _entries(servo: Servo) -> dict[str, object]:
    """Entries of a servo in the servo map that calibration may change, to the digits that it finds."""
    called, kept = SLIDING if servo.slides else {}, ("channel", "feedback_adc", "grip", "electric")
    return {called.get(name, name): _rounded(value) for name, value in servo.written().items() if name not in kept}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


# -- the URDF --------------------------------------------------------------------------------------------------------------


def urdf_text(
    description: ArmDescription,
    links: Mapping[str, LinkProperties],
    when: str,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> str:
    """The URDF's text with measured masses, centres of mass and inertias about the joints' axes.

    The other two moments keep their ratio to the one about the axis.

    Args:
        when: date, for the comments.
        limits: measured position limits by joint [rad or m]; written inwards to 1e-4.

    Raises:
        DescriptionError: a link whose ``<inertial>``, or a joint whose ``<limit>``, is not found in the text.
    """
    text = description.urdf
    for name, one in links.items():
        link, along = description.links[name], lay(description, name)
        begin, end = _found(text, "link", name, "inertial", description.source)
        ratio = one.mass.value / link.mass if one.inertia is None else one.inertia.value / along.inertia(link.inertia)
        com = along.at(link.com, one.distance.value)
        text = text[:begin] + inertial(one.mass.value, com, link.inertia * ratio, f"measured {when}", ".6f", ".6e") + text[end:]
    for name, (lower, upper) in (limits or {}).items():
        begin, end = _found(text, "joint", name, "limit", description.source)
        limit = text[begin:end]
        for key, value in (("lower", math.ceil(lower * 1e4) / 1e4), ("upper", math.floor(upper * 1e4) / 1e4)):
            limit, count = re.subn(rf"""(\b{key}=["'])[^"']*(["'])""", rf"\g<1>{value:.4f}\g<2>", limit, count=1)
            if not count:
                raise DescriptionError(f"joint {name}: its <limit> in {description.source} has no {key}", name)
        text = f"{text[:begin]}{limit}{text[end:]}"
    return text


def _found(text: str, tag: str, name: str, kind: str, source: str) -> tuple[int, int]:
    if found := places(text, tag, name, kind):
        return found[0]
    raise DescriptionError(f"{tag} {name}: no <{kind}> to replace in {source}", name)


def rewritten(
    description: ArmDescription,
    links: Mapping[str, LinkProperties],
    when: str = "",
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> ArmDescription:
    """The arm of ``urdf_text``, with the same tool: the text does not name it."""
    made = parse(urdf_text(description, links, when, limits), description.source)
    return replace(made, tool_frame=description.tool_frame, notes=description.notes)


# -- the camera ------------------------------------------------------------------------------------------------------------


def cameras_text(camera: Camera, root: str, when: str) -> str:
    """Where a camera stands beside the arm, as ``picker pick --listen`` reads it, and its optics in a comment."""
    angles = Rotation.from_matrix(camera.rotation).as_euler("xyz", degrees=True)
    pose = {"parent": root, "at_m": np.round(camera.position, 5).tolist(), "rpy_deg": np.round(angles, 3).tolist()}
    optics = f"f {camera.focal:.1f} px, centre {camera.centre[0]:.1f} {camera.centre[1]:.1f}, k1 {camera.distortion[0]:.4f}"
    said = f"# Found by picker calibrate on {when}; {camera.width}x{camera.height}, {optics}.\n"
    return said + yaml.safe_dump({"cameras": {"camera_optical_frame": pose}}, default_flow_style=None, sort_keys=False)


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
