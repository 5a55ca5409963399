"""Check of a URDF, ``picker check [URDF]``: linter, and all models of it against one another.

    lint          masses, inertias, limits, holding torques: what cannot be, or is unlikely
    dynamics      hand-written models, of this package's reader, against Pinocchio, of its own, over random states: M, C v, g,
                  tau, forward dynamics, the tool and its Jacobian; the N-joint chain for any fixed-base arm, and the closed
                  form too where the arm has the shape of one

Nothing here moves an arm.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot import description
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.lint import Finding, lint
from picker_dynamics.robot.model import DynamicsModel
from picker_dynamics.robot.serial_arm import serial_arm

from . import lagrangian
from .cross_check import LIMIT, compare

PAYLOAD_KG = 0.025
"""Every state is compared again with this at the tool: a berry."""


@dataclass(frozen=True)
class CheckReport:
    """Report of a check: what was found, and how well the models agree.

    Attributes:
        urdf: where it came from.
        robot, joints: names of the arm and of its movable joints.
        findings: of the linter.
        comparisons: what was compared -> term -> worst relative residual.
        notes: what could not be compared, and why.
    """

    urdf: str
    robot: str
    joints: tuple[str, ...]
    findings: tuple[Finding, ...]
    comparisons: dict[str, dict[str, float]]
    notes: tuple[str, ...]

    @property
    def worst(self) -> float:
        """The worst residual of all; NaN counts as infinite, 0 if nothing was compared."""
        residuals = [value for terms in self.comparisons.values() for value in terms.values()]
        return max((value if math.isfinite(value) else math.inf for value in residuals), default=0.0)

    def fatal(self, strict: bool) -> int:
        """How many findings are fatal; with ``strict`` all are."""
        return sum(strict or finding.fatal for finding in self.findings)

    def passed(self, strict: bool = False) -> bool:
        """Models agree, and nothing fatal was found."""
        return self.worst <= LIMIT and not self.fatal(strict)


def run(path: str | Path, *, strict: bool = False, samples: int = 1000, seed: int = 0, as_json: bool = False) -> int:
    """Check a URDF and print the result.

    Args:
        path: the URDF.
        strict: every finding of the linter is fatal.
        samples: number of random states.
        seed: of those states.
        as_json: print JSON instead of text.

    Returns:
        Exit code: 0, or 1 for residuals above 1e-9 or fatal findings.

    Raises:
        DescriptionError: the URDF is malformed.
        InputError: fewer than one sample.
        MissingDependencyError: Pinocchio is not installed.
    """
    report = check(description.load(path), samples=samples, seed=seed)
    print((as_json_text if as_json else as_text)(report, strict))
    return 0 if report.passed(strict) else 1


def check(arm: ArmDescription, *, samples: int = 1000, seed: int = 0) -> CheckReport:
    """Lint an arm and compare the models of it; see :func:`run`."""
    from .rigid_body import RigidBody

    findings = lint(arm)
    comparisons: dict[str, dict[str, float]] = {}
    try:
        notes = list(serial_arm(arm).notes if arm.n else ())
    except DescriptionError as error:  # its models may be sound all the same
        notes = [f"it cannot be driven: {error}"]
    if any(finding.fatal for finding in findings):
        notes.append("no model was built: with a fatal finding the arm cannot be simulated")
    else:
        payload = PAYLOAD_KG if any(joint.movable for joint in arm.path_to(arm.tool)) else 0.0
        models: dict[str, DynamicsModel] = {"N-joint chain": lagrangian.ChainModel(arm)}
        special = lagrangian.analytic_model(arm)
        if isinstance(special, lagrangian.ClosedForm):
            models[f"closed form ({special.system})"] = special
        for title, model in models.items():
            report = compare(model, RigidBody(arm), arm, samples=samples, seed=seed, payload=payload)
            comparisons[f"{title} and Pinocchio"] = report.residuals
        if not payload:
            notes.append(f"compared without a payload: no joint moves the tool {arm.tool}")
    return CheckReport(arm.source, arm.name, arm.joint_names, findings, comparisons, tuple(notes))


def as_text(report: CheckReport, strict: bool) -> str:
    """Report as a text for a person: findings, a table of residuals, and one line of verdict."""

    def counted(number: int, what: str) -> str:
        return f"{number or 'no'} {what}{'' if number == 1 else 's'}"

    lines = [f"{report.urdf}: {report.robot}, {len(report.joints)} joints: {' '.join(report.joints)}"]
    lines.append(f"lint: {counted(len(report.findings), 'finding')}")
    lines += [f"  {'FATAL ' if strict or finding.fatal else ''}{finding}" for finding in report.findings]
    for title, terms in report.comparisons.items():
        lines.append(title)
        for term, value in terms.items():
            lines.append(f"  {term:<20} {value:8.1e}  {'ok' if value <= LIMIT else f'above {LIMIT:.0e}'}")
    lines += [f"note: {note}" for note in report.notes]
    if report.comparisons:
        agreement = "passed" if report.worst <= LIMIT else "FAILED"
        lines.append(f"models {agreement}: worst relative residual {report.worst:.1e}, limit {LIMIT:.0e}")
    if report.fatal(strict):
        lines.append(f"lint FAILED: {counted(report.fatal(strict), 'fatal finding')}")
    return "\n".join(lines)


def as_json_text(report: CheckReport, strict: bool) -> str:
    """Report as JSON for programs; what is not a number is null."""

    def finite(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: finite(one) for key, one in value.items()}
        return None if isinstance(value, float) and not math.isfinite(value) else value

    more = {"worst": report.worst, "limit": LIMIT, "strict": strict, "passed": report.passed(strict)}
    return json.dumps(finite(asdict(report) | more), indent=2, ensure_ascii=False)
