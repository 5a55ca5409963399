"""Check and writing of a calibration's files: ``picker check`` of the URDF, and whether the servo map goes with it.

A result that fails is not written, and nothing that was there is touched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from picker_dynamics.dynamics.check import CheckReport, check
from picker_dynamics.dynamics.cross_check import LIMIT
from picker_dynamics.errors import ConfigurationError, DescriptionError
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_map
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.lint import Finding
from picker_dynamics.robot.lint.links import link_findings
from picker_dynamics.robot.servo_map import LIMIT_TOLERANCE, ServoMap

from .mass_properties import LinkProperties
from .write_back import urdf_text, write

URDF_NAME, OVERLAY_NAME = "arm.urdf", "servos.calibrated.yaml"

MASS_RATIO = (0.6, 1.7)
"""Measured mass over the URDF's beyond which one of them is of other parts: a servo is left off, or weighed twice."""

SAMPLES = 200
"""Random states in which the models are compared."""


@dataclass(frozen=True)
class ResultCheck:
    """What was found.

    Attributes:
        report: of ``picker check``.
        refused: why the result must not be used, a line each; none for one in order.
        notes: what to know of it, a line each.
    """

    report: CheckReport
    refused: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the result may be used."""
        return not self.refused


def check_result(urdf: str, overlay: str | None = None, *, servos: str | Path | None = None) -> ResultCheck:
    """``picker check`` of a calibrated arm, and of its servo map.

    Args:
        urdf: text of the URDF.
        overlay: text of the servo-map overlay, None: the servo map as it is.
        servos: servo map under the overlay, default config/servos.yaml.

    Raises:
        DescriptionError: the text is no URDF.
    """
    arm = parse(urdf, URDF_NAME)
    report = check(arm, samples=SAMPLES)
    refused = [str(finding) for finding in report.findings if finding.fatal]
    if report.worst > LIMIT:
        refused.append(f"models of it disagree by {report.worst:.1e}, limit {LIMIT:.0e}")
    notes = [str(finding) for finding in report.findings if not finding.fatal]
    try:
        beyond = reachable_limits(arm, _servos(arm.joint_names, overlay, servos))
        notes += [
            f"joint {name}: its pulses reach {low:.3f} ... {high:.3f} rad only; targets beyond are cut there"
            for name, (low, high) in beyond.items()
        ]
    except ConfigurationError as error:
        refused.append(str(error))
    return ResultCheck(report, tuple(refused), tuple(notes))


def reachable_limits(arm: ArmDescription, servos: ServoMap) -> dict[str, tuple[float, float]]:
    """Limits [rad] of the joints whose URDF allows more than the pulses reach, as calibrated; for ``urdf_text``."""
    narrowed = {}
    for joint, servo in zip(arm.movable, servos.servos):
        low, high = servo.pulse_range
        if joint.lower < low - LIMIT_TOLERANCE or joint.upper > high + LIMIT_TOLERANCE:
            narrowed[joint.name] = max(joint.lower, low), min(joint.upper, high)
    return narrowed


def write_result(
    folder: str | Path, urdf: str, overlay: str, *, servos: str | Path | None = None, more: Mapping[str, str] | None = None
) -> dict[str, Path]:
    """Check a calibrated arm, then write ``arm.urdf``, ``servos.calibrated.yaml`` and ``more`` files (name: text).

    Returns:
        Backups of what was there, by name.

    Raises:
        DescriptionError: the result fails the check; nothing was written.
        ConfigurationError: the folder cannot be written.
    """
    checked = check_result(urdf, overlay, servos=servos)
    if not checked.passed:
        raise DescriptionError(f"the calibrated arm fails picker check, nothing was written: {'; '.join(checked.refused)}")
    backups = {}
    for name, text in ({URDF_NAME: urdf, OVERLAY_NAME: overlay} | dict(more or {})).items():
        try:
            backup = write(Path(folder) / name, text)
        except OSError as error:
            raise ConfigurationError(
                f"cannot write {Path(folder) / name}: {error.strerror}; what was there is as it was", value=str(folder)
            ) from error
        if backup is not None:
            backups[name] = backup
    return backups


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
    """What ``picker check`` says of the measured links: density of what is drawn, centre of mass inside of it, radius of
    gyration within it, triangle inequality; and masses far from the URDF's.

    Args:
        description: the arm as drawn, with the masses believed before.
        links: what was measured.
    """
    measured = parse(urdf_text(description, links, ""), description.source)
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
