"""The URDF reader: what it reads, and how it refuses what is malformed."""

import re

import arm_fixtures
from pytest import mark, raises
from small_urdfs import broken

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot import description

PICKER = arm_fixtures.picker()


MALFORMED = {
    "not XML": ([("</robot>", "")], "not XML", None),
    "xacro": ('<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:macro name="m"/></robot>', "xacro", None),
    "a link with two parents": (
        [("</robot>", '<joint name="j" type="fixed"><parent link="base_link"/><child link="rod"/></joint></robot>')],
        "two parents",
        "j",
    ),
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
    assert caught.value.subject == joint


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
