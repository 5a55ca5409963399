"""SRDF: pairs of links that may touch are not looked at; all else is left alone, and a file of another arm is refused."""

from __future__ import annotations

from arm_fixtures import picker, servos
from pytest import mark, raises

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot.collision import CollisionModel
from picker_dynamics.robot.srdf import read_srdf

SRDF = """<robot name="picker">
  <group name="arm"><chain base_link="base_link" tip_link="hand"/></group>
  <disable_collisions link1="{}" link2="turret" reason="Never"/>
</robot>"""


def pairs(model: CollisionModel) -> set[frozenset[str]]:
    return {frozenset(pair.names) for pair in model.pairs}


def test_allowed_pairs_are_not_looked_at_and_all_others_are(tmp_path):
    (tmp_path / "arm.srdf").write_text(SRDF.format("hand"))
    allowed, poses = read_srdf(tmp_path / "arm.srdf", picker()), [servos().home, servos().rest]
    assert allowed == {frozenset(("hand", "turret"))}
    before, after = (pairs(CollisionModel(picker(), {}, 0.0, poses, *more)) for more in ((), (allowed,)))
    assert before - after == allowed and after < before


@mark.parametrize(
    "text, said",
    [
        (SRDF.format("claw"), "disable_collisions of 'claw', no link of picker"),
        (SRDF.format("hand").replace("robot", "rebot"), "root element is <rebot>"),
        ("collision: off", "not XML"),
    ],
    ids=["link", "root", "text"],
)
def test_what_is_no_srdf_of_the_arm_is_refused(tmp_path, text, said):
    (tmp_path / "arm.srdf").write_text(text)
    with raises(ConfigurationError, match=f"SRDF.*arm.srdf.*{said}"):
        read_srdf(tmp_path / "arm.srdf", picker())
