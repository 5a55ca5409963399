"""A robot_description that others go by: about this arm, or one line that says what is not."""

import re

import pytest
from arm_fixtures import picker

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot.description_check import require_agreement

URDF = picker().urdf


def limit_of(joint: str, **values) -> str:
    """The picker's URDF with other limits for a joint."""

    def changed(match):
        text = match.group(0)
        for key, value in values.items():
            text, count = re.subn(rf'{key}="[^"]*"', f'{key}="{value}"', text)
            assert count == 1
        return text

    text, count = re.subn(rf'<joint name="{joint}".*?</joint>', changed, URDF, flags=re.S)
    assert count == 1
    return text


def test_the_same_and_a_narrower_and_a_larger_robot_agree():
    require_agreement(URDF, picker())
    require_agreement(limit_of("elbow", lower=-1.0, upper=0.1, velocity=1.0), picker())
    extra = (
        '<link name="lamp"/><joint name="lamp" type="revolute"><parent link="base_link"/><child link="lamp"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
    )
    require_agreement(URDF.replace("</robot>", extra), picker())


@pytest.mark.parametrize(
    ("urdf", "joint", "said"),
    [
        (limit_of("elbow", upper=2.0), "elbow", "upper limit of elbow is 2 rad, this arm's is 0.45 rad"),
        (limit_of("shoulder", lower=-1.0), "shoulder", "lower limit of shoulder is -1 rad, this arm's is -0.35 rad"),
        (limit_of("base", velocity=50.0), "base", "velocity limit of base is 50 rad/s"),
        (URDF.replace('name="wrist"', 'name="hand_pitch"'), "wrist", "has no joint wrist; this arm has base, shoulder"),
        (
            URDF.replace('<joint name="base" type="revolute"', '<joint name="base" type="continuous"'),
            "base",
            "joint base is continuous, here it is revolute",
        ),
        ("<robot", None, "robot_description: not XML"),
        ("", None, "robot_description: not XML"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_another_arm_is_told_by_joint_value_and_limit(urdf, joint, said):
    with pytest.raises(DescriptionError, match=re.escape(said)) as caught:
        require_agreement(urdf, picker())
    assert caught.value.subject == joint
