"""An arm whose servos measure calibrates itself: what it finds, what it says and keeps, and what stops it."""

import json
from argparse import ArgumentParser

import numpy as np
from pytest import fixture, mark, raises

from benchmarks.bus_calibration import (
    FILES,
    PLANT_ERROR,
    Agrees,
    RestingArm,
    figures,
    gravity_percent,
    in_motion,
    known,
    poses_of,
)
from picker_dynamics.commands import calibrate as command
from picker_dynamics.errors import BoardFaultError, ConfigurationError, InputError, LinkError, PickerError
from picker_dynamics.estimation.calibration import by_itself, evaluate, measured
from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate
from picker_dynamics.estimation.calibration.questions import Context
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.estimation.hidden_arm import HiddenArm
from picker_dynamics.robot import servo_arm


@fixture
def short(monkeypatch):
    """Two bare stations and a loaded one, chosen among few, come to faster."""
    for module, name, value in (
        (measured, "BARE", 2),
        (measured, "LOADED", 1),
        (by_itself, "CANDIDATES", 20),
        (by_itself, "LAST_S", 0.3),
    ):
        monkeypatch.setattr(module, name, value)
    paths = evaluate.usual_paths
    monkeypatch.setattr("picker_dynamics.estimation.calibration.steps.result.usual_paths", lambda *some: paths(*some, 2))


class Listens(Agrees):
    """Keeps what is told, and does something when a station is come to."""

    def __init__(self, at="", does=None):
        self.said, self.at, self.does = [], at, does

    def tell(self, text, style=""):
        self.said.append(text)
        if self.at and self.at in text:
            self.does()


def walked(folder, hidden, person, weight_kg=0.0):
    """What is found of a hidden arm."""
    context = Context(Session.open(folder, {}, {}), person, None, 1, step="stations")
    return by_itself.run(context, ArmEstimate(hidden.description, hidden.believed), measured.Stander(hidden.session), weight_kg)


def hidden_arm():
    return HiddenArm(*FILES, PLANT_ERROR, 1)


def require_found(hidden, found):
    """Stiffness within 5 % with a known mass, and gravity torques at poses that were not visited."""
    rows = figures(hidden, found)
    assert max(abs(error) for kind, error, _ in rows if kind == "stiffness") < 0.05
    assert gravity_percent(hidden, found) < 5.0
    assert np.mean([inside for *_, inside in rows]) > 0.85  # of some 20 figures with 95 % intervals: 17


def test_stiffness_masses_and_tip_of_an_arm_at_rest_are_found():
    hidden = hidden_arm()
    arm, poses = RestingArm(hidden, 1), poses_of(hidden)
    found = arm.calibrated()
    require_found(hidden, found)
    before, after, exact = (
        np.median(arm.tips_mm(one, poses)) for one in (ArmEstimate(hidden.description, hidden.believed), found, known(hidden))
    )
    assert after < min(exact + 1.0, 2.0) and after < 0.2 * before
    assert np.quantile(arm.tips_mm(found, poses), 0.95) < 1e3 * evaluate.tip_uncertainty(found, poses)


@mark.long
def test_an_arm_in_motion_is_found_within_five_minutes():
    """Through controller, bytes and simulated bus: twenty stations, and the true tip afterwards."""
    arm = in_motion(1)
    assert max(abs(error) for kind, error, _ in arm["rows"] if kind == "stiffness") < 0.05
    assert arm["machine_s"] < 300.0 and arm["gravity_percent"] < 5.0
    assert arm["after"] < min(arm["known"] + 1.0, 2.0)


def options_of(*arguments):
    parser = ArgumentParser()
    command.add_parser(parser.add_subparsers())
    return parser.parse_args(["calibrate", *arguments])


def test_the_command_writes_the_files_and_says_what_gravity_does_not_tell(short, tmp_path, capsys):
    (tmp_path / "arm.urdf").write_text("what was there")
    out = "--sim", "--arm", "so101", "--weight", "200", "--out", str(tmp_path), "--seed", "1"
    assert command.run(options_of(*out)) == 0
    said = capsys.readouterr().out
    assert "zeros of shoulder_pan, wrist_roll" in said and "Hang 200 g at the tool point" in said and "gripper" in said
    report = json.loads((tmp_path / "report.json").read_text())
    lift = report["joints"]["shoulder_lift"]["stiffness_nm_rad"]
    assert abs(lift["found"] / lift["truth"] - 1.0) < 0.1  # of three stations
    assert "zero_rad" not in report["joints"]["shoulder_pan"]
    assert (tmp_path / "arm.urdf.1").read_text() == "what was there"
    arm, servos = servo_arm.load(tmp_path / "arm.urdf", FILES[1], tmp_path / "servos.calibrated.yaml")
    assert servos.servos[1].stiffness == np.float64(f"{lift['found']:.6g}")
    assert arm.links["hand"].mass != servo_arm.read_arm(FILES[0]).links["hand"].mass


def test_it_goes_on_where_it_was_interrupted(short, monkeypatch, tmp_path):
    monkeypatch.setattr(measured, "LOADED", 0)
    hidden, then = hidden_arm(), Listens()

    def interrupt():
        raise KeyboardInterrupt

    with raises(KeyboardInterrupt):
        walked(tmp_path, hidden, Listens("station 2 of 2, from above", interrupt))
    walked(tmp_path, hidden, then)
    stations = [text for text in then.said if " station " in text]
    assert stations == ["bare station 2 of 2, from above", "bare station 2 of 2, from below"]


@mark.parametrize(
    ("harm", "joint", "error"),
    [
        (lambda hidden: hidden.plant.attach(1.5), "elbow_flex|shoulder_lift", BoardFaultError),
        (lambda hidden: setattr(hidden.session.arm.clock.servos[3], "celsius", 85.0), "wrist_flex", PickerError),
        (lambda hidden: setattr(hidden.session.arm.clock, "plugged", False), "bus in memory is gone", PickerError),
        (lambda hidden: hidden.session.arm.clock.power(False, [1]), "shoulder_lift", PickerError),
    ],
)
def test_what_goes_wrong_stops_it_is_named_and_loses_nothing(short, tmp_path, harm, joint, error):
    hidden = hidden_arm()
    with raises(error, match=joint):
        walked(tmp_path, hidden, Listens("station 1 of 3, from below", lambda: harm(hidden)))
    kept = Session.open(tmp_path, {}, {})
    assert kept.value("stations", "bare.1.-1") and kept.value("stations", "bare.1.+1") is None
    assert not (tmp_path / "arm.urdf").exists()


@mark.parametrize(
    ("arguments", "said"),
    [
        (("--sim", "--weight", "100"), "--weight needs --camera"),
        (("--sim", "--arm", "rrp"), "has no servos"),
        (("--sim", "--arm", "so101", "--step", "map"), "leave --step out"),
        (("--arm", "so101"), "give --port, or --sim"),
    ],
)
def test_what_cannot_be_asked_is_said(tmp_path, arguments, said):
    with raises(InputError, match=said):
        command.run(options_of(*arguments, "--out", str(tmp_path)))


def test_a_session_with_another_weight_is_not_mixed(tmp_path):
    asked = "--arm", "so101", "--port", str(tmp_path / "nowhere"), "--out", str(tmp_path)
    with raises(LinkError):
        command.run(options_of(*asked, "--weight", "100"), ask=lambda _: "yes")
    with raises(InputError, match="was begun with 100 g"):
        command.run(options_of(*asked), ask=lambda _: "yes")


def test_an_arm_that_measures_nothing_is_refused_by_name():
    from picker_dynamics.robot.arm_text import Known
    from picker_dynamics.session.local import simulate

    with simulate(Known(*servo_arm.load()), "none") as session, raises(ConfigurationError, match="picker does not measure"):
        measured.Stander(session)
