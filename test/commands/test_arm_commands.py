"""What ``picker move`` and ``jog`` make of words: joints, places and units; and all commands on a running arm."""

import json

import numpy as np
import pytest
from arm_fixtures import picker, servos, shipped_arm
from pytest import approx
from served_arm import TOKEN, Running
from waiting import PATIENCE_S, until

from picker_dynamics.commands import arm_commands, cli
from picker_dynamics.errors import InputError


def joints_of(arm, home) -> dict:
    """As ``Session.joints`` has them."""
    vectors = {"lower": arm.lower, "upper": arm.upper, "home": home, "rest": home}
    names = {"names": list(arm.joint_names), "units": list(arm.position_units)}
    return names | {name: [float(x) for x in one] for name, one in vectors.items()}


HOME = np.array(servos().home)
PICKER, RRP = joints_of(picker(), HOME), joints_of(shipped_arm("rrp").description, np.zeros(3))
TIP = "--tip 0.26 0.08 0.17"


def test_via_points_are_places_of_the_tip_each_with_its_blend():
    words = f"move --via 0.2 -0.1 20cm blend=20mm --via 0.2 0 0.2 {TIP} --straight"
    one, two = arm_commands.places(cli.parser("move").parse_args(words.split()))
    assert one.tip == approx([0.2, -0.1, 0.2]) and one.blend == approx(0.02) and one.straight and two.blend == 0.0


@pytest.mark.parametrize(
    "words, said",
    [
        ("", "give X Y Z of the tip in metres, or --joints"),
        ("0.26 0.08 0.17 --joints base=1", "give X Y Z of the tip in metres, or --joints"),
        ("0.26 0.08", "three values, not 2"),
        ("--joints base 30", "--joints base 30: give NAME=VALUE, for example base=30"),
        ("--joints base=x", "base: 'x' is not a number"),
        ("--joints base=1 --pitch-deg 3", "belong to X Y Z"),
        (f"--via 0.2 0.1 {TIP}", "--via 0.2 0.1: give X Y Z of the tip"),
        (f"--via 0.2 0.1 0.2 blend=wide {TIP}", "blend: 'wide' is not a number; for example: 12.3 m"),
    ],
)
def test_a_move_has_one_target_and_places_on_the_way(words, said):
    options = cli.parser("move").parse_args(["move", *words.split()])
    with pytest.raises(InputError, match=said) as caught:
        arm_commands.run(options)
    assert caught.value.exit_code == 5


@pytest.mark.parametrize(
    "arm, name, text, value",
    [
        (PICKER, "base", "90", np.pi / 2.0),
        (PICKER, "base", "0.5 rad", 0.5),
        (RRP, "d3", "400mm", 0.4),
        (PICKER, "base", "20mm", "base: unit 'mm', must be one of deg"),
        (PICKER, "base", "1e999", "base: '1e999' is too large"),
        (PICKER, "tail", "1", "no joint 'tail'"),
    ],
)
def test_joints_are_told_in_degrees_and_metres_or_with_a_unit(arm, name, text, value):
    if isinstance(value, str):
        with pytest.raises(InputError, match=value):
            arm_commands.amounts(arm, [f"{name}={text}"])
    else:
        assert arm_commands.amounts(arm, [f"{name}={text}"]) == {name: approx(value)}


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["jog", "d3", "-5mm"], "amount", "-5mm"),
        (["jog", "d3", "-1e-2"], "amount", "-1e-2"),
        (["move", "--tip", "-260mm", "8cm", "-1.7e-1"], "tip", [-0.26, 0.08, -0.17]),
        (["move", "-260mm", "0.08", "-1.7e-1"], "place", [-0.26, 0.08, -0.17]),
        (["payload", "25g"], "mass", 0.025),
        (["check", "--", "-5m"], "urdf", "-5m"),
    ],
)
def test_a_value_may_have_its_unit_and_a_minus_in_front(words, name, value):
    found = getattr(cli.parser().parse_args(words), name)
    assert (found.strip() if isinstance(found, str) else found) == (value if isinstance(value, str) else approx(value))


def test_commands_on_a_running_arm_by_its_socket_and_over_tcp(run_picker, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("picker_dynamics.session.remote.ANSWER_S", PATIENCE_S)
    running = Running()
    try:
        until(lambda: running.arm.controller.execution.active and running.report.entries, "an active arm")
        for words, said in (
            ("jog theta1 5", "s: theta1 16.5 deg, theta2 126.1 deg, d3 500.0 mm"),
            ("move --joints theta1=10 d3=410mm", "theta1 10.0 deg, theta2 126.1 deg, d3 410.0 mm"),
            ("home", "theta1 11.5 deg"),
            ("payload 25g", "payload 25 g"),
            ("status", "payload 25 g"),
            ("stop", "stopped"),
            ("status", "next: picker reset, then picker enable"),
            ("reset", "reset"),
            ("enable", ""),
        ):
            code, out, complaints = run_picker(*words.split())
            assert code == 0 and said in out, (words, out, complaints)
        until(lambda: running.arm.controller.execution.active, "an active arm")
        monkeypatch.setenv("PICKER_TOKEN", TOKEN)
        code, out, _ = run_picker("status", "--json", "--host", f"127.0.0.1:{running.port}")
        assert code == 0 and json.loads(out)["joints"]["d3"]["unit"] == "m"
        x, y, z = json.loads(out)["tip_m"]
        monkeypatch.setenv("PICKER_HOST", f"127.0.0.1:{running.port}")
        code, out, complaints = run_picker("move", "--straight", "--tip", str(x), str(y), str(z + 0.02))
        assert code == 0 and "there after" in out, complaints
        for words, code, said in (
            ("jog theta1 5s", 5, "theta1: unit 's', must be one of"),
            ("jog theta1 900", 6, "theta1"),
            ("enable --accept-board", 1, "this arm has no board"),
        ):
            found, _, complaints = run_picker(*words.split())
            assert found == code and said in complaints, (words, complaints)
    finally:
        running.close()
