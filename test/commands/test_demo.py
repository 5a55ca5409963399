"""``picker demo``: its poses can be held, its summary has the promised keys, and it does not call a failure a success."""

import dataclasses
import json
import math

import numpy as np
import yaml
from arm_fixtures import picker, servos
from numpy.testing import assert_allclose
from patient import patience, patient_clients
from pytest import approx, fixture, mark
from ros_graph import own_domain

from picker_dynamics.commands import cli, demo
from picker_dynamics.commands.demo import animation, measure
from picker_dynamics.commands.demo import scene as scenes
from picker_dynamics.estimation.closed_loop import Recording
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.scripting.steps import Payload
from picker_dynamics.trajectory.straight_line import off_line

SCENE_FILE = resource("config/demo.yaml")
MODES = {"none", "gravity", "full"}
KEYS = {
    "hold_error_mm": MODES,
    "tracking_rms_mm": MODES,
    "loop": {"rate_hz", "jitter_p99_ms", "latency_max_ms", "missed"},
    "refused": {"joint", "value", "limit", "unit"},
}


@fixture(scope="module")
def scene():
    return scenes.load_scene(picker(), servos())


@mark.parametrize("name", ["so100", "so101"])
def test_other_arms_with_servos_pick_the_same_berries(name):
    assert len(scenes.load_scene(*servo_arm.load(resource(f"urdf/{name}.urdf"))).picks) == 3


def test_an_arm_that_takes_efforts_is_not_shown(run_picker):
    code, _, complaints = run_picker("demo", "--arm", "rrp")
    assert code == 5 and "arm rrp has torque-controlled joints: the demo is for servos" in complaints


# -- the scene -----------------------------------------------------------------------------------------


def test_every_berry_is_picked_straight_and_placed(scene):
    assert len(scene.picks) == len(scene.errands) == 3
    kinematics, raw = ChainKinematics(picker()), yaml.safe_load(SCENE_FILE.read_text())
    tips = kinematics.forward
    for legs, berry in zip(scene.picks, raw["berries"]):
        moves = [leg for leg in legs if leg.moves]
        assert [leg.name for leg in moves] == ["approach", "in", "close", "out", "above", "in", "open", "out"]
        assert [leg.step.mass for leg in legs if isinstance(leg.step, Payload)] == [raw["payload_kg"], 0.0]
        approach, into, close, out, _, put, opened, _ = moves
        assert_allclose(tips(into.plan.target), berry["at_m"], atol=1e-5)
        assert_allclose(tips(out.plan.target) - tips(into.plan.target), [0.0, 0.0, raw["lift_m"]], atol=1e-5)
        assert_allclose(tips(put.plan.target), raw["tray"]["at_m"], atol=1e-5)
        assert approach.plan.target[4] == approx(math.radians(60.0)) and close.plan.target[4] == approx(math.radians(5.0))
        assert_allclose(close.plan.target[:4], into.plan.target[:4], atol=1e-9)
        assert opened.plan.target[4] == approx(math.radians(60.0))
        for leg in moves:
            path = leg.plan.motion.trajectory
            points = tips(path.sample(np.linspace(0.0, path.duration, 100))[0])
            straight = leg.name in ("in", "out")
            assert (leg.path is not None) == straight
            if straight:
                assert off_line(points, points[0], points[-1]).max() < 5e-4


def test_a_miss_a_fault_or_nothing_refused_is_no_success():
    good = {"picks": [{"ok": True}] * 3, "refused": {"joint": "shoulder"}, "faults": []}
    bad = {"picks": []}, {"picks": [{"ok": True}, {"ok": False}]}, {"faults": ["fault 2 HOST_LOST"]}, {"refused": {}}
    assert demo.passed(good) and not any(demo.passed(good | changes) for changes in bad)


# -- the moving picture --------------------------------------------------------------------------------


LEGS = [measure.Began(0, 100, 300, 0.0), measure.Began(300, 400, 600, 0.025), measure.Began(600, 700, 900, 0.0)]


@mark.parametrize("off_m, got", [(0.0012, 1), (0.0062, 0)])
def test_a_berry_goes_with_the_tip_that_was_near_enough_and_hangs_where_it_was_missed(scene, off_m, got):
    """One berry: to it, away with it, and without it; the arm at home, its tip off by so much."""
    rows = 900
    poses, told = np.tile(servos().home, (rows, 1)), np.linspace([0.26, 0.08, 0.17], [0.10, -0.20, 0.11], rows)
    run = Recording(0.01 * np.arange(rows), poses, poses, poses, poses, poses, told, told - [0.0, 0.0, off_m])
    result = measure.ModeResult(np.array([off_m]), off_m, run, legs=LEGS)
    shots = animation.film(scene, picker(), result, result)
    berries = [[prop.at for prop in shot.props if prop.kind == "sphere"] for shot in shots]
    assert [len(one) for one in berries] == [1] * len(shots)
    assert shots[0].got == 0 and shots[-1].got == got and all(shot.error_m == approx(off_m) for shot in shots)
    below = [0.0, 0.0, animation.STEM_M + animation.BERRY_M]
    hung, on_tray = told[299] - below, [0.10, -0.20, 0.015 + animation.BERRY_M]
    assert_allclose(berries[0], [hung])
    assert_allclose(berries[-1], [on_tray if got else hung], atol=1e-9)
    assert any(np.allclose(one, run.tip[300] - below) for one in berries) is bool(got)


# -- the whole, with one berry -------------------------------------------------------------------------


@mark.ros
@mark.long
def test_one_berry_is_picked_by_the_real_graph_and_measured_in_every_mode(monkeypatch, tmp_path, capsys):
    """The demo as it is, cut short to one berry; the board waits longer for a host that this machine may starve."""
    out = tmp_path / "demo"
    whole = scenes.load_scene

    def cut(*arm):
        found = whole(*arm)
        return dataclasses.replace(found, picks=found.picks[:1], errands=found.errands[:1])

    monkeypatch.setattr(scenes, "load_scene", cut)
    with own_domain(), patience(), patient_clients():
        code = cli.main(["demo", "--out", str(out)])
    summary = json.loads((out / "summary.json").read_text())
    assert code == 0, summary
    for key, inner in KEYS.items():
        assert set(summary[key]) == inner, key
    assert [set(pick) for pick in summary["picks"]] == [{"target_m", "tip_error_mm", "ok"}]
    assert all(pick["ok"] for pick in summary["picks"]) and summary["cross_check_worst"] <= 1e-9 and not summary["faults"]
    assert summary["loop"]["latency_max_ms"] > 0.0 and summary["loop"]["rate_hz"] > 0.0
    for mode in MODES:
        assert np.isfinite([*summary["hold_error_mm"][mode].values(), summary["tracking_rms_mm"][mode]]).all(), mode
    assert summary["hold_error_mm"]["full"]["median"] < summary["hold_error_mm"]["none"]["median"] / 5.0
    assert {path.name for path in out.iterdir()} >= {"nodes.log", "pick.gif", "summary.json", "tip_error.png", "full.png"}
    assert summary["refused"]["joint"] == "shoulder" and summary["refused"]["value"] > summary["refused"]["limit"]
    assert summary["tracking_rms_mm"]["full"] < summary["tracking_rms_mm"]["none"] / 5.0
    assert "berries picked within 5 mm: 1 of 1" in capsys.readouterr().out
