"""The URDF reader: what it reads, and how it refuses what is malformed."""

from __future__ import annotations

import math
import re

import arm_fixtures
import numpy as np
from pytest import approx, mark, raises
from small_urdfs import TWO_LINKS, broken

from picker_dynamics.errors import ConfigurationError, DescriptionError, JointNamesError
from picker_dynamics.resources import resource, share_directory
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


def test_reads_every_number_of_a_joint():
    arm = description.parse(TWO_LINKS)
    lift, slide = arm.movable
    assert (lift.lower, lift.upper, lift.velocity, lift.effort) == (-1, 2, 5, 3)
    assert (lift.damping, lift.friction) == (0.02, 0.01)
    assert lift.axis.tolist() == [0, -1, 0]
    assert slide.axis.tolist() == [1, 0, 0], "the axis is normalised"
    assert slide.movable and not arm.joint("tool").movable
    assert arm.lower.tolist() == [-1, 0] and arm.effort.tolist() == [3, 20]
    assert arm.damping.tolist() == [0.02, 0] and arm.friction.tolist() == [0.01, 0]
    assert arm.velocity.tolist() == [5, 0.2] and arm.upper.tolist() == [2, 0.1]
    assert [joint.name for joint in arm.path_to("tool0")] == ["lift", "slide", "tool"]


def test_defaults_of_the_format_are_kept():
    """No <origin> is the identity, no <axis> is x, no <limit> on a continuous joint is no limit."""
    text = broken(
        ('type="revolute"', 'type="continuous"'),
        ('<origin xyz="0 0 0.1"/><axis xyz="0 -1 0"/>', ""),
        ('<limit lower="-1" upper="2" velocity="5" effort="3"/>', ""),
        ('<dynamics damping="0.02" friction="0.01"/>', ""),
    )
    lift = description.parse(text).joint("lift")
    assert lift.axis.tolist() == [1, 0, 0] and lift.xyz.tolist() == [0, 0, 0]
    assert np.array_equal(lift.rotation, np.eye(3))
    assert (lift.lower, lift.upper, lift.velocity, lift.effort) == (-math.inf, math.inf, math.inf, math.inf)
    assert (lift.damping, lift.friction) == (0, 0)


def test_inertia_is_turned_into_link_axes():
    """rpy = (0, 0, pi/2) puts the inertial frame's x along the link's y."""
    text = broken(('rpy="0 0 0"/><mass value="0.4"/>', 'rpy="0 0 1.5707963267948966"/><mass value="0.4"/>'))
    inertia = description.parse(text).links["arm"].inertia
    assert inertia == approx(np.diag([1.4e-3, 6e-5, 1.4e-3]), abs=1e-18)


def test_rpy_is_about_fixed_axes_roll_first():
    """(0.5, 0, pi/2) sends y to roll: (0, cos, sin), then yaw: (-cos, 0, sin)."""
    rotation = description.rotation_from_rpy([0.5, 0.0, math.pi / 2])
    assert rotation @ [0, 1, 0] == approx([-math.cos(0.5), 0, math.sin(0.5)], abs=1e-15)
    assert rotation @ rotation.T == approx(np.eye(3), abs=1e-15)
    assert np.linalg.det(rotation) == approx(1.0)


def test_order_is_depth_first_in_document_order_not_alphabetical():
    text = broken(
        (
            "</robot>",
            """<link name="a"/><link name="z"/>
      <joint name="z_first" type="continuous"><parent link="base_link"/><child link="z"/></joint>
      <joint name="a_second" type="continuous"><parent link="base_link"/><child link="a"/></joint></robot>""",
        )
    )
    assert description.parse(text).joint_names == ("lift", "slide", "z_first", "a_second")


def test_without_tool0_the_tool_is_the_last_leaf():
    text = broken(('<child link="tool0"/>', '<child link="tip"/>'), ('<link name="tool0"/>', '<link name="tip"/>'))
    assert description.parse(text).tool == "tip"


MALFORMED = {
    "not XML": ([("</robot>", "")], "not XML", None),
    "another root element": ("<sdf/>", "root element is <sdf>", None),
    "xacro": ('<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:macro name="m"/></robot>', "xacro", None),
    "no name": ("<robot/>", "<robot> has no name", None),
    "two roots": ([("</robot>", '<link name="alone"/></robot>')], "found 2: base_link, alone", None),
    "a loop beside the tree": (
        [
            (
                "</robot>",
                """<link name="a"/><link name="b"/>
        <joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
        <joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>""",
            )
        ],
        "not connected to the root base_link: j, k",
        "j",
    ),
    "a link with two parents": (
        [("</robot>", '<joint name="j" type="fixed"><parent link="base_link"/><child link="rod"/></joint></robot>')],
        "two parents",
        "j",
    ),
    "a link twice": ([("</robot>", '<link name="arm"/></robot>')], "link arm is defined twice", "arm"),
    "a joint twice": ([('<joint name="slide"', '<joint name="lift"')], "joint lift: is defined twice", "lift"),
    "a link that is not there": (
        [('<child link="rod"/>', '<child link="rot"/>')],
        "joint slide: child link 'rot' does not exist",
        "slide",
    ),
    "a link without name": ([('<link name="arm">', "<link>")], "a <link> has no name", None),
    "no parent": ([('<parent link="arm"/>', "")], "joint slide: <parent link=…> is missing", "slide"),
    "a floating joint": ([('type="revolute"', 'type="floating"')], "joint lift: is 'floating'", "lift"),
    "a joint without type": ([(' type="revolute"', "")], "joint lift: is None", "lift"),
    "revolute without limit": (
        [('<limit lower="-1" upper="2" velocity="5" effort="3"/>', "")],
        "joint lift: is revolute and has no <limit>",
        "lift",
    ),
    "crossed limits": (
        [('lower="-1" upper="2"', 'lower="2" upper="-1"')],
        "joint lift: lower limit 2 is above upper limit -1",
        "lift",
    ),
    "negative effort": ([('effort="3"', 'effort="-3"')], "<limit> effort is -3, must be >= 0", "lift"),
    "no effort limit": ([(' effort="3"', "")], "joint lift: <limit> has no 'effort'", "lift"),
    "zero axis": ([('<axis xyz="0 -1 0"/>', '<axis xyz="0 0 0"/>')], "joint lift: axis is (0, 0, 0)", "lift"),
    "short axis": ([('<axis xyz="0 -1 0"/>', '<axis xyz="0 1"/>')], "xyz='0 1' has 2 numbers, not 3", "lift"),
    "a word for a number": ([('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0 ten"/>')], "is not numeric", "lift"),
    "negative mass": ([('value="0.4"', 'value="-0.4"')], "link arm: <mass> value is -0.4, must be >= 0", "arm"),
    "huge inertia": ([('ixx="6e-5"', 'ixx="1e300"')], "link arm: ixx='1e300' is beyond 1e+09", "arm"),
    "no mass": ([('<mass value="0.4"/>', "")], "link arm: <inertial> needs both", "arm"),
    "a visual without geometry": (
        [('<geometry><box size="0.2 0.03 0.03"/></geometry>', "")],
        "link arm: a <visual> has no geometry",
        "arm",
    ),
    "an unknown shape": ([("<box size=", "<capsule size=")], "geometry <capsule> is not supported", "arm"),
    "a flat box": ([('size="0.2 0.03 0.03"', 'size="0.2 0 0.03"')], "has size 0 m, must be > 0", "arm"),
    "a mesh without file": ([('<box size="0.2 0.03 0.03"/>', "<mesh/>")], "has no filename", "arm"),
}


@mark.parametrize("changes, message, joint", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_text_is_refused_in_one_line_that_names_the_place(changes, message, joint):
    with raises(DescriptionError) as caught:
        description.parse(changes if isinstance(changes, str) else broken(*changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.subject == joint


def test_a_file_that_cannot_be_read_is_a_description_error(tmp_path):
    with raises(DescriptionError, match="cannot read URDF"):
        description.load(tmp_path / "absent.urdf")
    (tmp_path / "binary.urdf").write_bytes(b"\xff\xfe\x00")
    with raises(DescriptionError, match="cannot read URDF"):
        description.load(tmp_path / "binary.urdf")


def test_a_declared_encoding_and_a_byte_order_mark_do_no_harm(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text('<?xml version="1.0" encoding="utf-8"?>\n' + TWO_LINKS, encoding="utf-8-sig")
    assert description.load(file).name == "two"


def test_an_unknown_joint_is_named_with_those_there_are():
    with raises(JointNamesError, match="no joint 'knee'; it has base, shoulder") as caught:
        PICKER.joint("knee")
    assert caught.value.subject == "knee"


def test_resources_are_found_and_a_missing_one_is_named():
    assert (share_directory() / "urdf").is_dir()
    with raises(ConfigurationError, match="no file urdf/absent.urdf"):
        resource("urdf/absent.urdf")


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


def test_the_same_and_a_narrower_and_a_larger_robot_agree():
    description.require_agreement(PICKER.urdf, PICKER)
    description.require_agreement(limit_of("elbow", lower=-1.0, upper=0.1, velocity=1.0), PICKER)
    extra = (
        '<link name="lamp"/><joint name="lamp" type="revolute"><parent link="base_link"/><child link="lamp"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
    )
    description.require_agreement(PICKER.urdf.replace("</robot>", extra), PICKER)


@mark.parametrize(
    ("urdf", "joint", "said"),
    [
        (limit_of("elbow", upper=2.0), "elbow", "upper limit of elbow is 114.6 deg, this arm's is 25.8 deg"),
        (limit_of("base", velocity=50.0), "base", "velocity limit of base is 2864.8 deg/s, this arm's is"),
        (PICKER.urdf.replace('name="wrist"', 'name="hand_pitch"'), "wrist", "has no joint wrist; this arm has base, shoulder"),
        (
            PICKER.urdf.replace('<joint name="base" type="revolute"', '<joint name="base" type="continuous"'),
            "base",
            "joint base is continuous, here it is revolute",
        ),
        ("<robot", None, "robot_description: not XML"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_another_arm_is_told_by_joint_value_and_limit(urdf, joint, said):
    with raises(DescriptionError, match=re.escape(said)) as caught:
        description.require_agreement(urdf, PICKER)
    assert caught.value.subject == joint


@mark.parametrize("count", [description.MAX_JOINTS + 1, 200])
def test_an_arm_of_too_many_joints_is_refused_before_any_model_is_made(count):
    links = "".join(f'<link name="l{k}"/>' for k in range(count + 1))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/></joint>'
        for k in range(count)
    )
    with raises(DescriptionError, match=f"{count} movable joints, at most {description.MAX_JOINTS}"):
        description.parse(f'<robot name="long">{links}{joints}</robot>')
