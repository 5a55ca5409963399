"""A camera beside the arm calibrates it: its derivatives, what it finds, what it says and refuses."""

import json
from argparse import ArgumentParser
from dataclasses import replace

import numpy as np
import yaml
from pytest import approx, fixture, mark, raises, skip

from benchmarks import camera as bench
from benchmarks.bus_calibration import Agrees
from picker_dynamics.commands import calibrate as command
from picker_dynamics.commands import prove as prove_command
from picker_dynamics.commands.calibrate_by_itself import enabled
from picker_dynamics.controller import parameters
from picker_dynamics.errors import BoardFaultError, CameraError, InputError, MissingDependencyError, PictureError
from picker_dynamics.estimation.calibration import by_itself, evaluate, prove, seen
from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate
from picker_dynamics.estimation.calibration.camera_model import CameraModel
from picker_dynamics.estimation.calibration.droop_model import Reading
from picker_dynamics.estimation.calibration.instruments import HAND, SHEET
from picker_dynamics.estimation.calibration.questions import Context
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.estimation.rehearsal import mounted
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.kinematic_tree import tool_pose
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.session.local import LocalSession, SimulatedSession
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.plant import Plant


@fixture(scope="module")
def picker():
    return bench.picker(1, 0.0, 0.1)


@fixture(scope="module")
def first(picker):
    """The model that the first look gives, and where joints are then."""
    hidden, eye, tags = picker
    base, home = by_itself.sought(hidden.description, hidden.believed), np.array(hidden.believed.home)
    looked = eye.seen(hidden.hidden.to_angle(hidden.believed.to_pulse_us(home)))
    return seen.first_model(base, looked, (eye.width, eye.height), home, tags, False), looked


@fixture
def short(monkeypatch):
    """Few stations, chosen among few, come to faster."""
    for module, name, value in ((seen, "FIRST", 4), (seen, "BARE", 2), (by_itself, "CANDIDATES", 30), (by_itself, "LAST_S", 0.3)):
        monkeypatch.setattr(module, name, value)
    paths = evaluate.usual_paths
    monkeypatch.setattr("picker_dynamics.estimation.calibration.steps.result.usual_paths", lambda *some: paths(*some, 2))


def some_readings(model: CameraModel, servos: ServoMap, viewer_seen) -> list[Reading]:
    rng = np.random.default_rng(0)
    q = np.array(servos.home) + rng.uniform(-0.3, 0.3, (4, servos.n)) * [1.0, 1.0, 1.0, 1.0, 0.0]
    rows = servos.to_pulse_us(q)
    return [Reading(row, sensor, 0.0, v, side=(-1.0) ** v) for v, row in enumerate(rows) for sensor in viewer_seen]


def test_derivatives_are_those_of_what_is_seen_and_of_the_tip(picker, first):
    """To 3 %: a turn's derivative is that of a small turn about where it is, and the edges' directions count as constant."""
    hidden, (model, _) = picker[0], first
    readings = some_readings(model, hidden.believed, seen.Viewer(hidden.session, picker[1], model).seen)
    looks = readings[::16]
    (mean, sd), rng = model.prior, np.random.default_rng(1)
    x = mean + np.clip(rng.normal(size=len(sd)), -1.0, 1.0) * np.minimum(0.3 * sd, 0.02)
    _, rates, _ = model.linearised(x, readings)
    tips = model.tip_rates(x, looks)

    def tip(unknowns):
        return tool_pose(model.crooked(unknowns), model.rest(unknowns, looks).q).position

    for i, name in enumerate(model.names):
        step = np.zeros(len(x))
        step[i] = 1e-5 * max(sd[i], 1e-2)
        seen_by = (model.linearised(x + step, readings)[0] - model.linearised(x - step, readings)[0]) / (2.0 * step[i])
        moved = (tip(x + step) - tip(x - step)) / (2.0 * step[i])
        assert rates[:, i] == approx(seen_by, abs=0.03 * np.abs(seen_by).max() + 1e-9), name
        assert tips[..., i] == approx(moved, abs=0.03 * np.abs(moved).max() + 1e-9), name


@mark.parametrize("seed", range(2, 6))
def test_the_first_look_tells_where_the_camera_is(seed):
    """Which way within 6 degrees; how far within a quarter: one look hardly tells focal length and distance apart."""
    hidden, eye, tags = bench.picker(seed, 1.0, 0.1)
    home = np.array(hidden.believed.home)
    looked = eye.seen(hidden.hidden.to_angle(hidden.believed.to_pulse_us(home)))
    base = by_itself.sought(hidden.description, hidden.believed)
    camera = seen.first_model(base, looked, (eye.width, eye.height), home, tags, False).camera
    assert np.linalg.norm(camera.position - eye.camera.position) < 0.25 * np.linalg.norm(eye.camera.position)
    turned = np.arccos(0.5 * (np.trace(camera.rotation.T @ eye.camera.rotation) - 1.0))
    assert turned < np.radians(6.0)


def test_what_is_found_holds_the_tip_nearly_as_well_as_the_truth(monkeypatch):
    monkeypatch.setattr(by_itself, "CANDIDATES", 80)
    arm = bench.at_rest(2, crooked=1.0)
    assert arm["after"] < 3.0  # the glued tag's 0.4 degrees alone are 1.1 mm at the tip, one standard deviation
    assert np.mean([inside for *_, inside in arm["rows"]]) > 0.8
    assert 0.7 < arm["misfit"] / (bench.NOISE_PX / 0.15) < 1.3


def test_rendered_pictures_in_which_the_arm_hides_its_tag_calibrate_it(monkeypatch):
    monkeypatch.setattr(by_itself, "CANDIDATES", 80)
    try:
        arm = bench.at_rest(4, rendered=True)
    except MissingDependencyError as error:
        skip(str(error))
    assert arm["after"] < 3.0
    assert np.mean([inside for *_, inside in arm["rows"]]) > 0.8


def test_visits_at_which_something_was_touched_are_left_out(monkeypatch):
    """The shoulder is 3 degrees elsewhere at three visits; without them the arm is known nearly as well as ever."""
    monkeypatch.setattr(by_itself, "CANDIDATES", 80)
    said = []
    touched = {visit: np.radians([0.0, 3.0, 0.0, 0.0, 0.0]) for visit in (5, 20, 33)}
    arm = bench.at_rest(3, touched=touched, tell=lambda text, _style: said.append(text))
    assert any("visits do not go with what all others say" in text for text in said)
    assert arm["after"] < 2.0


def test_a_weight_that_the_arm_does_not_bear_in_view_is_left_out(monkeypatch):
    monkeypatch.setattr(by_itself, "CANDIDATES", 40)
    monkeypatch.setattr(by_itself, "DRAWN", 2000)
    said = []
    arm = bench.at_rest(1, weight_kg=0.2, tell=lambda text, _style: said.append(text))
    assert any("200 g are more than the arm bears where it can be looked at" in text for text in said)
    assert arm["after"] < 3.0


def test_the_tip_is_seen_where_it_is(picker, first):
    """With all known exactly: to what 0.1 px of noise leave, three standard deviations."""
    hidden, eye, _ = picker
    model = replace(first[0], camera=eye.camera, hand=eye.hand, sheet=eye.sheet)
    fit = known_fit(model)
    fit.unknowns[-1] = 0.39  # the edges' shift
    q = np.array(hidden.believed.home) + [0.2, -0.1, 0.2, 0.1, 0.0]
    tip, sd = prove.tip_seen(fit, eye.seen(q)[HAND], q + [0.03, -0.02, 0.02, 0.03, 0.0])
    assert np.all(np.abs(tip - tool_pose(hidden.true, q).position) < 3.0 * sd + 1e-4)
    assert np.all(sd < 5e-3)


def known_fit(model):
    """A fit that knows all but 0.1 px."""
    from picker_dynamics.estimation.calibration.droop_fit import DroopFit

    unknowns = model.prior[0].copy()
    return DroopFit(model, (), unknowns, np.eye(len(unknowns)) * 1e-14, np.zeros(0), 1.0, ())


# -- refusals --------------------------------------------------------------------------------------------------------------


def test_a_tag_that_is_not_seen_is_named(picker, first):
    hidden, eye, tags = picker
    base, home = by_itself.sought(hidden.description, hidden.believed), np.array(hidden.believed.home)
    for missing in (HAND, SHEET):
        looked = {name: one for name, one in first[1].items() if name != missing}
        with raises(PictureError, match=f"the tag on the {missing} is not seen"):
            seen.first_model(base, looked, (eye.width, eye.height), home, tags, False)


@mark.parametrize(("measured", "scale"), [(0.0, 1.0), (0.0398, 0.995), (0.0606, 1.01), (0.03, 1.0)])
def test_the_sheet_s_tag_is_scaled_as_the_hand_s_whichever_was_taken(picker, measured, scale):
    size, sheet = seen.printed(picker[0].description, measured)
    assert size == (measured or 0.04) and sheet.tag.size_m == approx(0.08 * scale)


def test_a_tag_that_was_not_printed_is_refused(picker):
    with raises(InputError, match="the hand's tag is 45.0 mm wide, printed are 30, 40, 60 mm"):
        seen.printed(picker[0].description, 0.045)


def test_another_arm_s_pictures_are_refused(picker, first):
    """The hand is where no joint can bring it."""
    hidden, eye, tags = picker
    base, home = by_itself.sought(hidden.description, hidden.believed), np.array(hidden.believed.home)
    elsewhere = {**first[1], HAND: first[1][HAND] + [-400.0, 150.0]}
    with raises(PictureError, match="no camera sees the tags so"):
        seen.first_model(base, elsewhere, (eye.width, eye.height), home, tags, False)


def test_a_camera_that_moves_is_noticed(picker, first):
    hidden, eye, _ = picker
    viewer = seen.Viewer(hidden.session, eye, first[0])
    station = by_itself.Station(hidden.believed.to_pulse_us(hidden.believed.home), by_itself.Weight(), viewer.seen)
    looked = {name: one.tolist() for name, one in first[1].items()}
    assert len(viewer.readings(station, 1.0, {"tags": looked}, 0)) == 16
    looked[SHEET] = (first[1][SHEET] + [2.0, 2.6]).tolist()
    with raises(CameraError, match="the sheet's tag is 3.3 px from where it was first, allowed 1.5"):
        viewer.readings(station, 1.0, {"tags": looked}, 1)
    middle = first[1][SHEET].mean(axis=0)
    looked[SHEET] = (middle + 1.01 * (first[1][SHEET] - middle)).tolist()
    with raises(CameraError, match=r"the sheet's tag is \+1.0% larger than at first, allowed 0.8%: lock the focus"):
        viewer.readings(station, 1.0, {"tags": looked}, 1)


def test_proving_with_a_camera_that_was_moved_is_refused(picker, first):
    hidden, eye, _ = picker
    viewer = seen.Viewer(hidden.session, eye, first[0])
    viewer.first = {SHEET: first[1][SHEET] + [3.0, 0.0]}
    with raises(CameraError, match="px from where it was first"):
        prove.held(viewer, known_fit(first[0]), [np.array(hidden.believed.home)], lambda _text: None)


@mark.parametrize(("share", "said"), [(-1.0, "shoulder goes the other way: set its direction to"), (0.0, "base does not move")])
def test_a_joint_that_does_not_follow_is_named(picker, share, said, tmp_path):
    """The hand's tag is seen where it is with the joints turned by ``share`` of what they do."""
    hidden, eye, tags = picker
    home = np.array(hidden.believed.home)

    class Turned:
        width, height = eye.width, eye.height

        def look(self):
            q = hidden.plant.q
            away = q - home
            away[1 if share else 0] *= share
            return eye.seen(home + away)

    context = Context(Session.open(tmp_path, {}, {}), Agrees(), None, 1, step="stations")
    with raises(BoardFaultError, match=said):
        seen.begin(context, ArmEstimate(hidden.description, hidden.believed), hidden.session, Turned(), tags)


class NotEnabled(SimulatedSession):
    """A simulated arm that nobody has enabled yet."""

    def __init__(self, arm, plant, clock):
        LocalSession.__init__(self, arm)
        self.plant, self._virtual, self.real_time, self._due_s = plant, clock, False, 0.0
        self.step()
        self._begin()


def test_a_board_that_was_flashed_for_the_numbers_before_is_taken_after_a_yes(tmp_path):
    """As ``picker prove`` needs it: the calibrated servo map has other limits."""
    arm, flashed = servo_arm.load("", "")
    now = replace(flashed, servos=tuple(mounted(one, 0.05, 0.02) for one in flashed.servos))
    plant = Plant(arm, flashed, q=flashed.home)
    board = BoardInMemory(plant, flashed, found=list(flashed.home))
    running = RunningArm(parameters.settings({}), board, open_port=board.open, known=Known(arm, now), plans_beside=False)
    board.on_arrival = running.outputs.link.poll
    running.connect()
    session, asked = NotEnabled(running, plant, board), []

    class Person(Agrees):
        def ask(self, question):
            asked.append(question.text)
            return "yes"

    context = Context(Session.open(tmp_path, {}, {}), Person(), None, step="stations")
    enabled(context, session, ArmEstimate(arm, now))
    assert session.hardware["state"] == "active"
    assert "hands away" in asked[0] and asked[1].startswith("the board was flashed for other pulse or speed limits")


# -- the commands ----------------------------------------------------------------------------------------------------------


def options_of(module, *words):
    parser = ArgumentParser()
    module.add_parser(commands := parser.add_subparsers())
    return parser.parse_args([next(iter(commands.choices)), *words])


@mark.timeout(600)
def test_the_commands_calibrate_and_prove_by_drawn_pictures(short, tmp_path, capsys):
    out = "--camera", "sim", "--out", str(tmp_path), "--seed", "1"
    assert command.run(options_of(command, *out, "--tag", "40")) == 0
    said = capsys.readouterr().out
    assert "first station 1 of 4, from above" in said and "cameras.yaml" in said
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["joints"]["shoulder"]["stiffness_nm_rad"]["truth"] > 0.0
    arm, servos = servo_arm.load(tmp_path / "arm.urdf", "", tmp_path / "servos.calibrated.yaml")
    given = servo_arm.read_arm("")
    assert np.abs(arm.joint("elbow").rotation - given.joint("elbow").rotation).max() > 1e-4
    assert servos.servos[1].stiffness != servo_arm.load("", "")[1].servos[1].stiffness
    (pose,) = yaml.safe_load((tmp_path / "cameras.yaml").read_text())["cameras"].values()
    assert pose["parent"] == arm.root and np.linalg.norm(pose["at_m"]) > 0.4
    assert prove_command.run(options_of(prove_command, *out, "--poses", "2")) == 0
    told = json.loads((tmp_path / "prove.json").read_text())
    assert np.median([one["off_mm"] for one in told["after"]]) < 0.5 * np.median([one["off_mm"] for one in told["before"]])
    assert "Before, the tip was" in capsys.readouterr().out


def test_proving_what_no_camera_calibrated_is_refused(tmp_path):
    with raises(InputError, match="run picker calibrate --camera"):
        prove_command.run(options_of(prove_command, "--camera", "sim", "--out", str(tmp_path)))
