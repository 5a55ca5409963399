"""What ``picker move`` and ``jog`` begin with: the pose that is held."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from arm_fixtures import picker, shipped_arm
from execution_rig import HOME
from pytest import approx

from picker_dynamics.commands import arm_commands, cli
from picker_dynamics.errors import InputError, JointNamesError


@pytest.mark.parametrize("held", [0.0, 4.5e-5, -4.5e-5])
def test_a_pose_held_a_hair_beyond_a_limit_is_no_obstacle(held):
    """As a modelled one may be after a start anew."""
    q = np.array(HOME)
    q[4] = 1.2 + held
    at = SimpleNamespace(
        arm=picker(), client=SimpleNamespace(require_free=lambda: None, wait_holding=lambda: None, reference=lambda: q)
    )
    assert arm_commands.held_pose(at)[4] == min(q[4], 1.2)


def asked(*words):
    options = cli.parser().parse_args(["move", *words])
    return arm_commands.waypoints_of(options, picker(), np.array(HOME))


def test_via_points_are_places_of_the_tip_or_joints_in_degrees_each_with_its_blend():
    one, two, last = asked(
        "--via",
        "0.2",
        "-0.1",
        "0.2",
        "blend=0.02",
        "--via",
        "base=30",
        "--tip",
        "0.26",
        "0.08",
        "0.17",
        "--straight",
        "--pitch-deg",
        "-45",
    )
    assert one.tip == [0.2, -0.1, 0.2] and one.blend == 0.02 and one.straight
    np.testing.assert_allclose(two.q, [np.radians(30.0), *HOME[1:]])
    assert two.blend == 0.0 and last.tip == [0.26, 0.08, 0.17] and last.straight and last.pitch == pytest.approx(-np.pi / 4.0)


@pytest.mark.parametrize(
    "words, error, said",
    [
        (["--straight"], InputError, "give either --tip"),
        (["--straight", "--joints", "base=3"], InputError, "--straight belongs to --tip"),
        (["--via", "0.2", "0.1", "--tip", "0.2", "0", "0.2"], InputError, "--via 0.2 0.1: give X Y Z of the tip, or NAME=VALUE"),
        (["--via", "0.2", "0.1", "x", "--tip", "0.2", "0", "0.2"], InputError, "--via: 'x' is no number"),
        (["--via", "0.2", "0.1", "nan", "--tip", "0.2", "0", "0.2"], InputError, "--via: 'nan' is no number"),
        (
            ["--via", "0.2", "0.1", "0.2", "blend=wide", "--tip", "0.2", "0", "0.2"],
            InputError,
            "blend: 'wide' is no number; for example: 12.3 m",
        ),
        (
            ["--via", "260", "80", "170", "--tip", "0.2", "0", "0.2"],
            InputError,
            r"--via: '260' is 260 m, at most 10: are these millimetres\?",
        ),
        (
            ["--via", "0.2", "0.1", "0.2", "blend=30", "--tip", "0.2", "0", "0.2"],
            InputError,
            r"blend: '30' is 30 m, at most 10: are these millimetres\?",
        ),
        (["--via", "hip=3", "--tip", "0.2", "0", "0.2"], JointNamesError, "no joint 'hip'"),
        (["--via", "base=x", "--tip", "0.2", "0", "0.2"], InputError, "base: 'x' is no number; for example: 12.3 deg"),
    ],
)
def test_via_points_that_are_none_are_refused(words, error, said):
    with pytest.raises(error, match=said):
        asked(*words)


def test_a_sliding_joint_is_told_in_metres():
    arm = shipped_arm("rrp").description
    held = np.zeros(arm.n)
    at = SimpleNamespace(
        arm=arm,
        client=SimpleNamespace(require_free=lambda: None, wait_holding=lambda: None, reference=lambda: held),
        options=cli.parser().parse_args(["jog", "d3", "20"]),
    )
    assert arm_commands.named(arm, held, [("d3", "0.4"), ("theta1", "90")]).tolist() == [np.pi / 2.0, 0.0, 0.4]
    assert arm_commands.named(arm, held, [("d3", "400mm"), ("theta1", "0.5 rad")]).tolist() == approx([0.5, 0.0, 0.4])
    for text in ("400", "20"):
        with pytest.raises(InputError, match=rf"d3 slides from .* mm to .* mm; {text} m: are these millimetres\?"):
            arm_commands.named(arm, held, [("d3", text)])
    with pytest.raises(InputError, match=r"d3 slides from .* 20 m: are these millimetres\?"):
        at.options.act(at)
    with pytest.raises(InputError, match="d3: 'x' is no number; for example: 12.3 m$"):
        arm_commands.named(arm, held, [("d3", "x")])
    assert arm_commands.named(arm, held, [("d3", "20 m")])[2] == 20.0, "no slip of units: the limit says so"
    with pytest.raises(InputError, match="theta1: 'mm' is none of deg"):
        arm_commands.named(arm, held, [("theta1", "20mm")])
    with pytest.raises(InputError, match="theta1: '1e999' is no angle"):
        arm_commands.named(arm, held, [("theta1", "1e999")])


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["jog", "d3", "-5mm"], "amount", "-5mm"),
        (["jog", "d3", "-1e-2"], "amount", "-1e-2"),
        (["jog", "d3", "-5"], "amount", "-5"),
        (["move", "--tip", "-260mm", "8cm", "-1.7e-1"], "tip", [-0.26, 0.08, -0.17]),
        (["payload", "25g"], "mass", 0.025),
        (["jog", "d3", "-5."], "amount", "-5."),
        (["jog", "d3", "-,5"], "amount", "-,5"),
        (["check", "-1x.urdf"], "urdf", None),
        (["check", "--", "-5m"], "urdf", "-5m"),
    ],
)
def test_a_value_may_have_its_unit_and_a_minus_in_front(words, name, value):
    if value is None:
        with pytest.raises(SystemExit):
            cli.parser().parse_args(words)
        return
    found = getattr(cli.parser().parse_args(words), name)
    assert not isinstance(found, str) or words[0] != "check" or found == value
    assert (found.strip() if isinstance(found, str) else found) == (value if isinstance(value, str) else approx(value))
