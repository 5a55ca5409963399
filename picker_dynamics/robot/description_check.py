"""Whether a robot description that others go by is about the arm that is here."""

from __future__ import annotations

from picker_dynamics.errors import DescriptionError

from . import description
from .description import ArmDescription

TOLERANCE = 1e-4
"""How far a limit may exceed ours [rad, m, or per second]: 1.5708 is meant to be pi/2."""


def require_agreement(urdf: str, arm: ArmDescription, what: str = "robot_description") -> None:
    """Compare what ``urdf`` says of the joints of ``arm``; it may have more of them, and narrower limits.

    Args:
        urdf: text of the description.
        arm: the arm of the servo map.
        what: what is compared, for the error's text.

    Raises:
        DescriptionError: it cannot be read, lacks a joint or has it fixed, of another kind, or with wider limits.
    """
    other = description.parse(urdf, source=what)
    theirs = {joint.name: joint for joint in other.joints}
    for ours in arm.movable:
        joint = theirs.get(ours.name)
        if joint is None:
            raise DescriptionError(
                f"{what} ({other.name}) has no joint {ours.name}; this arm has {', '.join(arm.joint_names)}", subject=ours.name
            )
        if joint.type != ours.type:
            raise DescriptionError(
                f"{what}: joint {ours.name} is {joint.type}, here it is {ours.type}",
                subject=ours.name,
                value=joint.type,
                limit=ours.type,
            )
        unit = "m" if ours.type == "prismatic" else "rad"
        for name, there, here, beyond in (
            ("lower limit", joint.lower, ours.lower, ours.lower - joint.lower),
            ("upper limit", joint.upper, ours.upper, joint.upper - ours.upper),
            ("velocity limit", joint.velocity, ours.velocity, joint.velocity - ours.velocity),
        ):
            if beyond > TOLERANCE:
                of = f"{unit}/s" if name.startswith("velocity") else unit
                raise DescriptionError(
                    f"{what}: {name} of {ours.name} is {there:.4g} {of}, this arm's is {here:.4g} {of}",
                    subject=ours.name,
                    value=there,
                    limit=here,
                )
