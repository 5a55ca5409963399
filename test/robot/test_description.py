"""The URDF reader: what it reads, and how it refuses what is malformed."""

from __future__ import annotations

import re

import arm_fixtures
from pytest import approx, mark, raises
from small_urdfs import broken

from picker_dynamics.errors import ConfigurationError, DescriptionError
from picker_dynamics.resources import share_directory
from picker_dynamics.robot import description

PICKER = arm_fixtures.picker()


def test_picker_has_the_joints_lengths_and_masses_of_the_note():
    assert PICKER.joint_names == ("base", "shoulder", "elbow", "wrist", "scissor")
    assert (PICKER.root, PICKER.tool) == ("base_link", "tool0")
    assert not PICKER.links["base_link"].has_inertial
    masses = [PICKER.links[name].mass for name in ("upper_arm", "forearm", "hand", "scissor")]
    assert masses == [0.15, 0.12, 0.08, 0.05]
    lengths = [PICKER.joint(name).xyz[0] for name in ("elbow", "wrist", "tool")]
    assert lengths == [0.20, 0.145, 0.08]
    for name, length in zip(("upper_arm", "forearm", "hand"), lengths):
        assert PICKER.links[name].com == approx([length / 2, 0, 0], abs=0)
    assert PICKER.links["upper_arm"].inertia[1, 1] == 5e-4
    assert PICKER.links["forearm"].inertia[1, 1] == 3e-4
    assert PICKER.joint("base").xyz[2] + PICKER.joint("shoulder").xyz[2] == approx(0.09, abs=1e-15)


MALFORMED = {
    "not XML": ([("</robot>", "")], "not XML", None),
    "xacro": ('<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:macro name="m"/></robot>', "xacro", None),
    "a link with two parents": (
        [("</robot>", '<joint name="j" type="fixed"><parent link="base_link"/><child link="rod"/></joint></robot>')],
        "two parents",
        "j",
    ),
    "a floating joint": ([('type="revolute"', 'type="floating"')], "joint lift: is 'floating'", "lift"),
    "negative effort": ([('effort="3"', 'effort="-3"')], "<limit> effort is -3, must be >= 0", "lift"),
    "zero axis": ([('<axis xyz="0 -1 0"/>', '<axis xyz="0 0 0"/>')], "joint lift: axis is (0, 0, 0)", "lift"),
    "a visual without geometry": (
        [('<geometry><box size="0.2 0.03 0.03"/></geometry>', "")],
        "link arm: a <visual> has no geometry",
        "arm",
    ),
    "a flat box": ([('size="0.2 0.03 0.03"', 'size="0.2 0 0.03"')], "has size 0 m, must be > 0", "arm"),
}


@mark.parametrize("changes, message, joint", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_text_is_refused_in_one_line_that_names_the_place(changes, message, joint):
    with raises(DescriptionError) as caught:
        description.parse(changes if isinstance(changes, str) else broken(*changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.subject == joint


def test_resources_in_an_ament_prefix(tmp_path, monkeypatch):
    """Without a source tree around the module, AMENT_PREFIX_PATH is searched; empty entries are skipped."""
    from picker_dynamics import resources

    share = tmp_path / "second" / "share" / "picker_dynamics"
    (share / "urdf").mkdir(parents=True)
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "lib" / "picker_dynamics" / "resources.py"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", f":{tmp_path / 'first'}:{tmp_path / 'second'}")
    assert share_directory() == share
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    monkeypatch.setattr(resources.sys, "prefix", str(tmp_path / "venv"))
    with raises(ConfigurationError, match="source install/setup.bash"):
        share_directory()


# --- a robot_description that others go by: about this arm, or one line that says what is not ---


def limit_of(joint: str, **values) -> str:
    """The picker's URDF with other limits for a joint."""

    def changed(match):
        text = match.group(0)
        for key, value in values.items():
            text, count = re.subn(rf'{key}="[^"]*"', f'{key}="{value}"', text)
            assert count == 1
        return text

    text, count = re.subn(rf'<joint name="{joint}".*?</joint>', changed, PICKER.urdf, flags=re.S)
    assert count == 1
    return text


def test_a_narrower_robot_agrees():
    description.require_agreement(limit_of("elbow", lower=-1.0, upper=0.1, velocity=1.0), PICKER)


@mark.parametrize(
    ("urdf", "joint", "said"),
    [
        (limit_of("elbow", upper=2.0), "elbow", "upper limit of elbow is 114.6 deg, this arm's is 25.8 deg"),
        (PICKER.urdf.replace('name="wrist"', 'name="hand_pitch"'), "wrist", "joint wrist is revolute here, there no such joint"),
        ("<robot", None, "robot_description: not XML"),
    ],
    ids=["limit", "name", "text"],
)
def test_another_arm_is_told_by_joint_value_and_limit(urdf, joint, said):
    with raises(DescriptionError, match=re.escape(said)) as caught:
        description.require_agreement(urdf, PICKER)
    assert caught.value.subject == joint


def test_an_arm_of_too_many_joints_is_refused_before_any_model_is_made():
    count = description.MAX_JOINTS + 1
    links = "".join(f'<link name="l{k}"/>' for k in range(count + 1))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/></joint>'
        for k in range(count)
    )
    with raises(DescriptionError, match=f"{count} movable joints, at most {description.MAX_JOINTS}"):
        description.parse(f'<robot name="long">{links}{joints}</robot>')
