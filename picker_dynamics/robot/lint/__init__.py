"""URDF linter: whether an arm with these masses, inertias and limits can exist, as findings with link, value and reason.

What people have shipped: every inertia 1.0, an arm that needs no torque at the shoulder, 42.9 kg instead
of 7.2 kg.  Such files load everywhere and move nothing as they should.  ``description`` refuses what is
malformed; here is judged what can be read but is wrong, or at least unlikely.  A finding is fatal where the
arm cannot be simulated at all.

``links`` judges each link's inertials against physics and against what is drawn, ``joints`` the limits and
what each joint drives, ``gravity`` the torques that hold the arm.
"""

from __future__ import annotations

from ..description import ArmDescription
from .finding import Finding
from .gravity import driven_inertia, gravity_findings, holding_torque
from .joints import driven_findings, joint_findings
from .links import link_findings

__all__ = ["Finding", "driven_inertia", "holding_torque", "lint"]


def lint(description: ArmDescription) -> tuple[Finding, ...]:
    """Judge masses, inertias, limits and holding torques of an arm.

    Returns:
        The findings: link by link, then joint by joint in the description's order, then the arm under
        gravity; none for an arm in order.
    """
    if not description.n:
        return (Finding(description.root, "movable joints", "0", "nothing can move", fatal=True),)
    found: list[Finding] = []
    for name in (description.root, *(joint.child for joint in description.joints)):
        found += link_findings(description, name)
    for joint in description.movable:
        found += [*joint_findings(joint), *driven_findings(description, joint)]
    if not any(finding.fatal for finding in found):
        found += gravity_findings(description)
    return tuple(found)
