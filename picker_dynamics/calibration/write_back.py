"""What was found, as files: a servo-map overlay and a URDF, each number with its uncertainty and where it comes from.

Nothing is written in place: the URDF is a copy of the given one in which only ``<inertial>`` blocks differ, comments and all;
the overlay is to be used beside the servo map.  A file that is there already is kept as a numbered backup.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from picker_dynamics.calibration.droop import DroopFit
from picker_dynamics.calibration.mass_properties import LinkProperties
from picker_dynamics.calibration.measured import NORMAL_95, Measured
from picker_dynamics.description import ArmDescription
from picker_dynamics.errors import DescriptionError
from picker_dynamics.servo_map import Servo, ServoMap


@dataclass(frozen=True)
class ServoFigures:
    """What was found of one servo; None: nothing, what was believed stays.

    Args:
        zero: offset of the joint [rad].  scale: error of the horn's angle, as a share.
        stiffness: [N·m/rad].  deadband: half of it [rad].
        how: in words, for the file.
    """

    zero: Measured
    scale: Measured
    stiffness: Measured | None = None
    deadband: Measured | None = None
    how: str = ""


def figures_from(fit: DroopFit, angles: Mapping[str, ServoFigures]) -> dict[str, ServoFigures]:
    """Figures of all joints: from the fit where gravity loads them, from an angle pair elsewhere."""
    visits = len({one.visit for one in fit.readings})
    return dict(angles) | {
        joint: ServoFigures(fit.figure(joint, "zero"), fit.figure(joint, "scale"), fit.stiffness(joint),
                            fit.figure(joint, "deadband"), f"droop at {visits} visits of poses, misfit {fit.misfit:.2f}")
        for joint in fit.model.joints}


def calibrated(servo: Servo, found: ServoFigures) -> Servo:
    """The servo with what was found: q = q_cmd + zero + scale (q_cmd - middle) becomes its new pulse map."""
    changed = {"zero": servo.zero - servo.direction * found.zero.value,
               "horn_angles": tuple(angle * (1.0 + found.scale.value) for angle in servo.horn_angles)}
    if found.stiffness is not None:
        slope = (servo.horn_angles[-1] - servo.horn_angles[0]) * (1.0 + found.scale.value)
        changed["stiffness"] = found.stiffness.value
        changed["deadband_us"] = 2.0 * found.deadband.value * (servo.pulses_us[-1] - servo.pulses_us[0]) / slope
        changed["unmeasured"] = tuple(key for key in servo.unmeasured if key not in ("stiffness_nm_rad", "deadband_us"))
    return replace(servo, **changed)


def calibrated_servos(servos: ServoMap, found: Mapping[str, ServoFigures]) -> ServoMap:
    """The servo map with what was found; servos of which no stiffness was found get the mean of the others'."""
    known = [one.stiffness.value for one in found.values() if one.stiffness is not None]
    made = []
    for servo in servos.servos:
        servo = calibrated(servo, found[servo.joint]) if servo.joint in found else servo
        if known and "stiffness_nm_rad" in servo.unmeasured:
            servo = replace(servo, stiffness=float(np.mean(known)))
        made.append(servo)
    return replace(servos, servos=tuple(made))


def overlay_text(servos: ServoMap, found: Mapping[str, ServoFigures], when: str) -> str:
    """A servo-map overlay (YAML) with the calibrated figures.

    Args:
        servos: the calibrated map.
        found: with which it was made.
        when: date, for the comment.
    """
    lines = [f"# Differences from the servo map, found by picker calibrate on {when}.  ±: 95 % interval.", "joints:"]
    for servo in servos.servos:
        one, guessed = found.get(servo.joint), "stiffness_nm_rad" in servo.unmeasured
        if one is None and not guessed:
            continue
        lines.append(f"  {servo.joint}:" + (f"  # {one.how}" if one is not None else ""))
        if one is not None:
            lines += _horn_lines(servo, one)
        if guessed:
            lines.append(f"    stiffness_nm_rad: {{value: {servo.stiffness:.4f}, measured: false}}  # mean of those measured")
        elif one is not None and one.stiffness is not None:
            lines += _spring_lines(servo, one)
    return "\n".join(lines) + "\n"


def _horn_lines(servo: Servo, one: ServoFigures) -> list[str]:
    points = zip(map(math.degrees, servo.horn_angles), servo.pulses_us)
    return [f"    pulse_map: [{', '.join(f'[{angle:.4f}, {pulse:.4f}]' for angle, pulse in points)}]"
            f"  # ± {100 * NORMAL_95 * one.scale.sd:.2f} % of the angle",
            f"    zero_deg: {math.degrees(servo.zero):.4f}  # ± {math.degrees(NORMAL_95 * one.zero.sd):.2f}"]


def _spring_lines(servo: Servo, one: ServoFigures) -> list[str]:
    low, high = one.stiffness.interval
    share = NORMAL_95 * one.deadband.sd / max(one.deadband.value, 1e-6)
    return [f"    stiffness_nm_rad: {servo.stiffness:.4f}  # {low:.2f} ... {high:.2f}",
            f"    deadband_us: {servo.deadband_us:.4f}  # ± {100 * share:.0f} %"]


def urdf_text(description: ArmDescription, links: Mapping[str, LinkProperties], when: str) -> str:
    """The URDF's text with measured masses, centres of mass and pitch inertias.

    What a pendulum about one axis cannot tell, the other two moments, keeps its ratio to the first.

    Raises:
        DescriptionError: a link whose ``<inertial>`` is not found in the text.
    """
    text = description.urdf
    for name, found in links.items():
        link = description.links[name]
        ratio = found.mass.value / link.mass if found.inertia is None else found.inertia.value / link.inertia[1, 1]
        block = re.compile(rf'(<link\s+name="{re.escape(name)}"\s*>.*?)<inertial>.*?</inertial>', re.DOTALL)
        written = _inertial(link, found, ratio, when)
        text, count = block.subn(lambda match, written=written: match.group(1) + written, text, count=1)
        if not count:
            raise DescriptionError(f"link {name}: no <inertial> to replace in {description.source}", joint=name)
    return text


def _inertial(link, found: LinkProperties, ratio: float, when: str) -> str:
    x, y, z = found.distance.value, *link.com[1:]
    moments = link.inertia * ratio
    entries = " ".join(f'{key}="{moments[i, j]:.6e}"' for key, i, j in
                       (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2)))
    mass, centre = NORMAL_95 * found.mass.sd, 1e3 * NORMAL_95 * found.distance.sd
    swung = "inertia scaled with the mass" if found.inertia is None else f"iyy ± {NORMAL_95 * found.inertia.sd:.1e} by pendulum"
    return (f"<inertial>  <!-- measured {when}: mass ± {mass:.4f} kg, centre ± {centre:.1f} mm, {swung} -->\n"
            f'      <origin xyz="{x:.6f} {y:.6f} {z:.6f}"/>\n      <mass value="{found.mass.value:.6f}"/>\n'
            f"      <inertia {entries}/>\n    </inertial>")


def write(path: str | Path, text: str) -> Path | None:
    """Write a file; one that is there is kept as ``NAME.1``, ``NAME.2`` …, which is returned."""
    path, backup = Path(path), None
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        number = 1
        while (backup := path.with_name(f"{path.name}.{number}")).exists():
            number += 1
        path.rename(backup)
    path.write_text(text, encoding="utf-8")
    return backup
