"""urchin as a third reader of the URDF."""

from __future__ import annotations

import sys

import pytest
from small_urdfs import TWO_LINKS, broken

from picker_dynamics.dynamics.urchin_peer import UrchinArm, compare_with_urchin
from picker_dynamics.errors import DescriptionError, MissingDependencyError
from picker_dynamics.resources import resource
from picker_dynamics.robot import description

pytest.importorskip("urchin", reason="the optional third reader (extra: peer)")

ROUNDING = 1e-13
"""Both readers do the same few double operations in another order."""

TURNED = broken(
    ('<origin xyz="0.1 0 0" rpy="0 0 0"/>', '<origin xyz="0.1 0.01 -0.02" rpy="0.3 -0.4 0.5"/>'),
    ('ixy="0" ixz="0"', 'ixy="1e-5" ixz="-2e-5"'),
    ('<origin xyz="0.2 0 0" rpy="0 0 0"/>', '<origin xyz="0.2 0.1 0" rpy="0.1 0.2 0.3"/>'),
    ('<axis xyz="0 -1 0"/>', '<axis xyz="1 -2 3"/>'),
)


@pytest.mark.parametrize(
    "text",
    [resource("urdf/picker.urdf").read_text(encoding="utf-8"), TWO_LINKS, TURNED],
    ids=["picker", "two links", "everything turned"],
)
def test_readers_agree(text):
    report = compare_with_urchin(description.parse(text))
    assert set(report.residuals) == {"mass", "centre of mass", "inertia", "forward kinematics"}
    assert report.worst < ROUNDING


def test_a_difference_is_seen_and_located():
    """The readers are given different texts; each quantity shows its own relative difference."""
    arm = description.parse(TWO_LINKS)
    changes = [
        (('value="0.4"', 'value="0.5"'), "mass", "arm", 0.1 / 0.5),
        (('<origin xyz="0.05 0 0"/>', '<origin xyz="0.05 0.01 0"/>'), "centre of mass", "rod", 0.01 / 0.1),
        (('iyy="1.4e-3"', 'iyy="1.3e-3"'), "inertia", "arm", 1e-4 / 1.4e-3),
        (('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0 0.2"/>'), "forward kinematics", "arm", 0.1),
    ]
    for change, quantity, where, expected in changes:
        other = description.parse(broken(change))
        mixed = description.ArmDescription(arm.name, arm.root, arm.links, arm.joints, other.urdf)
        report = compare_with_urchin(mixed)
        assert report.residuals[quantity] == pytest.approx(expected, rel=1e-6)
        assert report.where[quantity] == where or quantity == "forward kinematics"
        assert report.worst == report.residuals[quantity]


def test_a_mimic_joint_is_a_joint_of_its_own():
    text = broken(('<dynamics damping="0.02"', '<mimic joint="slide" multiplier="3"/><dynamics damping="0.02"'))
    assert compare_with_urchin(description.parse(text)).worst < ROUNDING


def test_meshes_and_textures_are_not_opened():
    """Nor are transmissions read, which say nothing about the mechanics."""
    text = broken(
        ('<box size="0.2 0.03 0.03"/>', '<mesh filename="package://nowhere/absent.stl"/>'),
        ("</visual>", '<material name="bark"><texture filename="absent.png"/></material></visual>'),
        ("</robot>", '<transmission name="t"><joint/></transmission></robot>'),
    )
    assert compare_with_urchin(description.parse(text)).worst < ROUNDING


def test_what_urchin_cannot_read_is_a_description_error():
    """urchin reads safety controllers too, and insists that they are complete."""
    arm = description.parse(broken(("<dynamics", "<safety_controller/><dynamics")))
    with pytest.raises(DescriptionError, match="urchin cannot read"):
        UrchinArm(arm)


def test_without_urchin_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "urchin", None)
    with pytest.raises(MissingDependencyError, match="pip install urchin"):
        compare_with_urchin(description.parse(TWO_LINKS))
