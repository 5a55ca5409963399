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

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot import description
from picker_dynamics.robot.assumed_servos import require_limits
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.lint import Finding, lint, raised_moments
from picker_dynamics.robot.serial_arm import serial_arm
from picker_dynamics.robot.servo_arm import assumes

from . import lagrangian
from .cross_check import LIMIT, compare

PAYLOAD_KG = 0.025
"""Every state is compared again with this at the tool: a berry."""


@dataclass(frozen=True)
class CheckReport:
    """Report of a check: what was found, and how well the models agree.

    Attributes:
        urdf: where it came from.
        robot, joints, tool: names of the arm, of its movable joints, and of its tool frame.
        tip: the tool frame, and how it was chosen.
        findings: of the linter.
        comparisons: what was compared -> term -> worst relative residual; infinite where one is no number.
        notes: what could not be compared, and why.
    """

    urdf: str
    robot: str
    joints: tuple[str, ...]
    tool: str
    tip: str
    findings: tuple[Finding, ...]
    comparisons: dict[str, dict[str, float]]
    notes: tuple[str, ...]

    @property
    def worst(self) -> float:
        """The worst residual of all, 0 if nothing was compared."""
        return max((value for terms in self.comparisons.values() for value in terms.values()), default=0.0)

    def passed(self, strict: bool = False) -> bool:
        """Models agree, and nothing fatal was found; with ``strict`` every finding is."""
        return self.worst <= LIMIT and not any(strict or finding.fatal for finding in self.findings)


def run(
    path: str | Path, *, strict: bool = False, samples: int = 1000, seed: int = 0, as_json: bool = False, verbose: bool = False
) -> int:
    """Check a URDF and print the result.

    Args:
        path: the URDF.
        strict: every finding of the linter is fatal.
        samples: number of random states.
        seed: of those states.
        as_json: print JSON instead of text.
        verbose: print the residual of each term, not of those alone that are too large.

    Returns:
        Exit code: 0, or 1 for residuals above 1e-9 or fatal findings.

    Raises:
        DescriptionError: the URDF is malformed.
        InputError: fewer than one sample.
        MissingDependencyError: Pinocchio, or coal, is not installed.
    """
    report = check(description.load(path), samples=samples, seed=seed)
    passed = report.passed(strict)
    if as_json:
        more = {"worst": report.worst, "limit": LIMIT, "strict": strict, "passed": passed}
        text = json.dumps(asdict(report) | more, indent=2, ensure_ascii=False)
        print(text.replace(": Infinity", ": null"))
    else:
        print("\n".join(_lines(report, strict, verbose)))
    return 0 if passed else 1


def check(arm: ArmDescription, *, samples: int = 1000, seed: int = 0) -> CheckReport:
    """Lint an arm and compare the models of it; see :func:`run`."""
    from .rigid_body import RigidBody

    findings = lint(arm)
    comparisons: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    try:
        driven = serial_arm(arm) if arm.n else arm
        notes += driven.notes
        if assumes(driven):
            require_limits(driven)
    except DescriptionError as error:  # its models may be sound all the same
        notes.append(f"it cannot be driven: {error}")
    if bare := [link.name for link in arm.links.values() if link.visuals and not link.collisions]:
        notes.append(f"no collision shapes: what is drawn counts of {', '.join(bare)}")
    notes += [
        f"link {link.name}: the simulation raises its smallest principal moment by what rounding took from A + B >= C"
        for link in arm.links.values()
        if raised_moments(link) is not None
    ]
    if any(finding.fatal for finding in findings):
        notes.append("no model was built: with a fatal finding the arm cannot be simulated")
    else:
        payload = PAYLOAD_KG if any(joint.movable for joint in arm.path_to(arm.tool)) else 0.0
        models = [lagrangian.ChainModel(arm), lagrangian.analytic_model(arm)]
        for title, model in zip(
            ("N-joint chain", "closed form (picker)"), models[: 1 + isinstance(models[1], lagrangian.ClosedForm)]
        ):
            found = compare(model, RigidBody(arm), arm, samples=samples, seed=seed, payload=payload).residuals
            comparisons[f"{title} and Pinocchio"] = {term: x if math.isfinite(x) else math.inf for term, x in found.items()}
        if not payload:
            notes.append(f"compared without a payload: no joint moves the tool {arm.tool}")
    return CheckReport(arm.source, arm.name, arm.joint_names, arm.tool, _tip(arm), findings, comparisons, tuple(notes))


def _tip(arm: ArmDescription) -> str:
    """Tool frame of an arm, and how it was chosen (``ArmDescription.tool``)."""
    if arm.tool == "tool0":
        return "tool0, by its name"
    ends = not any(joint.parent == arm.tool for joint in arm.joints)
    how = "the end that most joints move" if ends else "the palm, as fingers or a jaw follow it"
    return f"{arm.tool}, {how}; a link tool0 on a fixed joint would be the tip"


def _lines(report: CheckReport, strict: bool, verbose: bool) -> list[str]:
    """Report for a person: the verdict, findings, residuals."""
    verdict = "passed" if report.passed(strict) else "FAILED"
    lines = [f"{verdict}: {report.urdf}: {report.robot}, {len(report.joints)} joints: {' '.join(report.joints)}"]
    lines.append(f"tip: {report.tip}")
    lines.append(f"lint: {len(report.findings) or 'no'} findings")
    lines += [f"  {'FATAL ' if strict or finding.fatal else ''}{finding}" for finding in report.findings]
    for title, terms in report.comparisons.items():
        told = {term: x for term, x in terms.items() if verbose or not x <= LIMIT}
        rows = (f"  {term:<20} {x:8.1e}  {'ok' if x <= LIMIT else f'above {LIMIT:.0e}'}" for term, x in told.items())
        lines += [title, *rows] if told else []
    lines += [f"note: {note}" for note in report.notes]
    if report.comparisons:
        agreement = "passed" if report.worst <= LIMIT else "FAILED"
        lines.append(f"models {agreement}: worst relative residual {report.worst:.1e}, limit {LIMIT:.0e}")
    if any(strict or finding.fatal for finding in report.findings):
        lines.append("lint FAILED")
    return lines
