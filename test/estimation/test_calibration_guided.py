"""The session's steps with a simulated arm whose numbers are hidden: what is found, what is told, and going on after a break."""

import json
import math
import time
from argparse import ArgumentParser
from dataclasses import replace
from functools import partial

import numpy as np
import yaml
from arm_fixtures import servos
from calibration_truth import ARM, BELIEVED, SIMULATED
from matplotlib import pyplot as plt
from pytest import approx, fixture, mark, raises

from picker_dynamics.commands import calibrate as command
from picker_dynamics.errors import InfeasibleError, InputError, LimitError
from picker_dynamics.estimation.calibration import arm_estimate, evaluate, guided, pose_figure, rehearsal, simulated, step_context
from picker_dynamics.estimation.calibration.joint_map import MapPoint, levelled, mapped
from picker_dynamics.estimation.calibration.mover import Mover
from picker_dynamics.estimation.calibration.person import READING_S
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.estimation.calibration.steps import result
from picker_dynamics.robot import description as descriptions
from picker_dynamics.sim.plant import Plant

COARSE_S = 2e-3
"""Step of the simulated arms [s]: four times the usual one, for motions that are slow."""
WRIST = ARM.joint_names.index("wrist")


class Person(rehearsal.SimulatedPerson):
    """Looks at some joints alone, types prepared answers to some questions, and breaks off at others."""

    def __init__(self, world, rng, *, joints=ARM.joint_names, typed=(), breaks=(), oscillator_hz=25e6):
        super().__init__(world, rng, oscillator_hz)
        self.joints, self.typed, self.breaks = joints, {key: list(lines) for key, lines in dict(typed).items()}, set(breaks)
        self.said, self.keys, self.stood = "", [], {}

    def tell(self, text, style=""):
        self.said += f" {text}"

    def answer(self, question):
        if question.key in self.breaks:
            raise KeyboardInterrupt
        self.keys.append(question.key)
        self.stood[question.key] = self.world.q()
        if self.typed.get(question.key):
            return self.typed[question.key].pop(0)
        joint, _, what = question.key.partition(".")
        if what == "how" and question.step in ("map", "limits") and joint not in self.joints:
            return "keep"
        return super().answer(question)


class Rig:
    """A simulated arm and sessions with it, in one folder."""

    def __init__(self, folder, *, believed=BELIEVED, seed=0, plant_error=0.15):
        self.folder, self.believed = folder, believed
        made = simulated.SimulatedBench.with_errors(ARM, SIMULATED, plant_error=plant_error, seed=seed)
        true = made.plant
        plant = Plant(ARM, true.servo_map, plant_error=true.error, dt=COARSE_S, q=SIMULATED.rest, support=True)
        self.bench = rehearsal.BoardOnBench(plant, made.rng, believed)

    def walk(self, *steps, **options):
        """Some steps: who answered, and what is believed then."""
        person = Person(self.bench, np.random.default_rng(1), **options)
        if not self.bench.outputs.link.connected:  # the session before let go of the port
            self.bench.outputs.take()
        context = step_context.StepContext(
            Session.open(self.folder, {}, {}), person, Mover(self.bench.outputs), self.folder, when="today", settle_s=1.5
        )
        context.switched |= {"on"} if not np.isnan(self.bench.outputs.pulses_us).any() else set()
        self.last = person
        return person, guided.run_steps(context, arm_estimate.ArmEstimate(ARM, self.believed), steps)

    def true_angles(self, joint, pulses):
        return self.bench.plant.servo_map.servos[ARM.joint_names.index(joint)].to_angle(np.array(pulses))


# -- oscillator ----------------------------------------------------------------------------------------------------------


@mark.parametrize("way", ["pulse", "frequency"])
def test_the_oscillator_is_trimmed_until_the_pulses_are_right(tmp_path, way):
    true_hz = 28.26e6  # 1500 us commanded, 1327 us measured
    typed = {
        "how": [way],
        "0.pulse": ["1.5", "1326.1"],
        "0.hz": ["0.5", f"{true_hz / 4096 / 122:.3f}"],
        "1.hz": [f"{true_hz / 4096 / 138:.3f}"],
    }
    person, estimate = Rig(tmp_path).walk("trim", typed=typed, oscillator_hz=true_hz)
    assert estimate.servos.oscillator_hz == approx(true_hz, rel=0.003)
    assert "flash" in person.said and "good enough" in person.said
    overlay = yaml.safe_load((tmp_path / "servos.trim.yaml").read_text())
    assert overlay["board"]["oscillator_hz"] == approx(true_hz, rel=0.003)
    assert "were these ms" in person.said or "must be 20 to 30" in person.said


def test_who_flashes_later_goes_on_with_measuring_again(tmp_path):
    rig = Rig(tmp_path)
    with raises(step_context.LeaveError, match="flash the firmware, then run the same command"):
        rig.walk("trim", oscillator_hz=25.5e6, typed={"1.flashed": ["later"]})
    person, estimate = rig.walk("trim", oscillator_hz=25.5e6)
    assert "0.pulse" not in person.keys and estimate.servos.oscillator_hz == approx(25.5e6, rel=0.002)


# -- map ------------------------------------------------------------------------------------------------------------------


def test_direction_and_zero_of_a_joint_that_turns_the_other_way_are_found(tmp_path):
    wrist = replace(BELIEVED.servos[WRIST], direction=1, zero=math.radians(8.0))
    believed = replace(BELIEVED, servos=(*BELIEVED.servos[:WRIST], wrist, *BELIEVED.servos[WRIST + 1 :]))
    rig = Rig(tmp_path, believed=believed)
    person, estimate = rig.walk("map", joints=("wrist",))
    assert "wrist turns the other way than the servo map says: its direction is -1 now" in person.said
    pulses = [900.0, 1500.0, 2100.0]
    servo = estimate.servos.servos[WRIST]
    assert servo.direction == -1 and servo.pulse_range == approx((-1.57, 1.57), abs=0.15)
    np.testing.assert_allclose(servo.to_angle(np.array(pulses)), rig.true_angles("wrist", pulses), atol=math.radians(1.2))


def test_how_the_inclinometer_lies_is_drawn_at_each_place(tmp_path, monkeypatch):
    drawn, draw = [], pose_figure.draw
    monkeypatch.setattr(pose_figure, "draw", lambda arm, panels, path: (drawn.append(panels[0]), draw(arm, panels, path)))
    person, _ = Rig(tmp_path).walk("map", joints=("wrist",))
    assert [one.title for one in drawn] == [f"wrist, place {number} of 5" for number in range(1, 6)]
    assert all([sensor.link for sensor in one.sensors] == ["forearm", "hand"] for one in drawn)
    assert np.ptp([one.q[WRIST] for one in drawn]) > math.radians(60.0)
    assert plt.imread(tmp_path / "pose_map.png").std() > 0.05 and person.said.count("pose_map.png") == 1


def test_a_joint_that_does_not_move_is_told_at_once_and_may_be_put_right(tmp_path):
    rig = Rig(tmp_path)
    stuck = {"wrist.0.forearm": ["-23"], "wrist.0.hand": ["-90"], "wrist.1.forearm": ["-23"], "wrist.1.hand": ["-90.1"]}
    with raises(step_context.LeaveError, match="wrist does not move; put it right"):
        rig.walk("map", joints=("wrist",), typed={**stuck, "wrist.still": ["leave"]})
    assert "wrist does not move: it was sent 10 deg away and went 0.1 deg. Is its plug on channel 3" in rig.last.said
    person, estimate = rig.walk("map", joints=("wrist",), typed={**stuck, "wrist.still": ["again"]})
    assert person.keys.count("wrist.still") == 1
    assert estimate.servos.servos[WRIST].direction == -1


def test_slips_while_mapping_are_doubted(tmp_path):
    rig = Rig(tmp_path)
    person, estimate = rig.walk("map", joints=("base",), typed={"base.2.angle": ["67.5", "-1.18", "67.5 mm"]})
    said = person.said
    assert "base is 67.5 deg, expected about -6" in said and "the sign?" in said and "is it in rad?" in said
    assert estimate.figures["base"].zero.sd < math.radians(0.2)


def test_a_bent_servo_gets_a_bent_map_and_a_straight_one_a_line():
    servo = BELIEVED.servos[0]
    pulses = np.linspace(700.0, 2300.0, 5)
    straight, off = mapped(servo, [MapPoint(pulse, 0.0016 * (pulse - 1450.0)) for pulse in pulses])
    assert len(straight.pulses_us) == 2 and off < 1e-9
    assert straight.to_angle(1450.0) == approx(0.0) and straight.pulses_us == servo.pulses_us

    held = [MapPoint(pulse, 0.0016 * (pulse - 1450.0) + 0.04 * (-1) ** k, 0.0, 0.03) for k, pulse in enumerate(pulses)]
    assert len(mapped(servo, held)[0].pulses_us) == 2, "friction held it back, now from below, now from above"
    assert len(mapped(servo, [replace(one, within=0.0) for one in held])[0].pulses_us) > 2

    def bend(pulse):
        return 0.0015 * (pulse - 1500.0) + 0.15 * ((pulse - 1500.0) / 800.0) ** 2

    bent, off = mapped(servo, [MapPoint(pulse, bend(pulse)) for pulse in pulses])
    assert len(bent.pulses_us) > 2 and bent.pulses_us[0] == 500.0 and bent.pulses_us[-1] == 2500.0
    np.testing.assert_allclose(bent.to_angle(pulses), [bend(pulse) for pulse in pulses], atol=1e-9)
    with raises(InputError, match="moves 401 deg in 1000 us, expected about 90 deg: an angle misread"):
        mapped(servo, [MapPoint(pulse, 0.007 * pulse) for pulse in pulses])
    with raises(InputError, match="take two that are further apart"):
        mapped(servo, [MapPoint(1500.0, 0.0), MapPoint(1510.0, 0.02)])


def test_which_joints_an_inclinometer_tells():
    found = {name: levelled(ARM, name, BELIEVED.home) for name in ARM.joint_names}
    assert found["base"] is None and found["scissor"] is None
    assert found["shoulder"].links == ("upper_arm",) and found["wrist"].links == ("forearm", "hand")
    across_the_half_turn = {"forearm": math.radians(170.0), "hand": math.radians(-150.0)}
    assert found["wrist"].angle(across_the_half_turn) == approx(math.radians(40.0))


# -- limits, rest ----------------------------------------------------------------------------------------------------------


def test_limits_stay_a_margin_inside_and_within_the_pulses(tmp_path):
    rig = Rig(tmp_path, plant_error=0.0)
    typed = {
        "base.low": ["60", "30", "stop"],
        "base.high": ["20", "20", "stop"],
        "scissor.low": ["", "keep"],
        "scissor.high": ["", "less", "30", "30", "30", "30", "30", "stop"],
    }
    person, estimate = rig.walk("limits", joints=("base", "scissor"), typed=typed)
    said = person.said
    assert "jog by 60 deg, must be at most 30 deg at once" in said
    ends = estimate.ends_us["base"]
    short = rig.true_angles("base", ends) - [person.stood[f"base.{end}"][0] for end in ("low", "high")]
    assert np.degrees(short) == approx([-0.6, 0.6], abs=0.1), "friction and gap held it short of where it was sent"
    stood = estimate.servos.servos[0].to_angle(ends) - short
    assert estimate.limits["base"] == approx(
        stood + [arm_estimate.LIMIT_MARGIN, -arm_estimate.LIMIT_MARGIN], abs=math.radians(0.15)
    )
    assert "no further: scissor" in said or "its pulses end here" in said
    servo = estimate.known_servos.servos[4]
    assert estimate.known_description.upper[4] <= servo.pulse_range[1]
    assert estimate.known_description.lower[1] == ARM.lower[1]


def test_an_enter_that_nobody_can_have_meant_neither_switches_the_arm_on_nor_moves_it(tmp_path):
    rig, held = Rig(tmp_path), {"base.low": ["keep"], "base.high": ["keep"]}
    person, _ = rig.walk("limits", joints=("base",), typed={**held, "on.base": ["", "y"]})
    assert person.keys.count("on.base") == 2 and "before the question can have been read" in person.said
    person = Person(rig.bench, np.random.default_rng(1), typed={"move": ["", "n"]})
    again = step_context.StepContext(Session.open(tmp_path, {}, {}), person, Mover(rig.bench.outputs), tmp_path)
    with raises(step_context.LeaveError, match="nothing was moved; the arm holds"):
        again.arm(arm_estimate.ArmEstimate(ARM, rig.believed))
    assert person.keys == ["move", "move"], "all outputs run"


def test_yes_and_enter_are_both_taken_once_the_question_can_have_been_read(tmp_path):
    class Reader(Person):
        def answer(self, question):
            if question.key.startswith("on."):
                time.sleep(READING_S)
            return super().answer(question)

    rig = Rig(tmp_path)
    person = Reader(rig.bench, np.random.default_rng(1), typed={"on.base": [""]})
    again = step_context.StepContext(Session.open(tmp_path, {}, {}), person, Mover(rig.bench.outputs), tmp_path, settle_s=1.5)
    again.arm(arm_estimate.ArmEstimate(ARM, rig.believed))
    assert person.keys.count("on.base") == 1 and again.arm_is_on, person.said


def test_limits_too_narrow_are_asked_again(tmp_path):
    typed = {"base.low": ["stop", "-30", "stop"], "base.high": ["stop", "30", "stop"]}
    person, estimate = Rig(tmp_path).walk("limits", joints=("base",), typed=typed)
    assert "too little to work with" in person.said


def test_a_rest_pose_outside_of_the_limits_is_not_taken(tmp_path):
    rig = Rig(tmp_path)
    typed = {"base.low": ["5", "stop"], "base.high": ["5", "7", "stop"]}
    person, estimate = rig.walk(
        "limits", "rest", joints=("base",), typed={**typed, "pulses": ["base 25", "knee 3", "base far", "done", "base 2", "done"]}
    )
    said = person.said
    assert "base rests" in said and "outside its limits. Jog to another pose" in said
    assert "'knee 3' is not of the form JOINT DEGREES" in said and "is no number" in said
    assert math.degrees(estimate.known_servos.rest[0]) == approx(2.0, abs=0.5)


def test_jogging_ends_where_the_servos_cannot_surely_hold(tmp_path):
    rig = Rig(tmp_path)
    _, estimate = rig.walk("trim", "rest")
    mover, validator = Mover(rig.bench.outputs), estimate.validator()
    with raises(InfeasibleError, match="shoulder|elbow"):
        mover.jog(validator, 2, 1.0)
        for _ in range(60):
            mover.jog(validator, 1, -0.1)
            mover.jog(validator, 2, 0.1)
    with raises(LimitError, match="pulses end here|its pulses allow"):
        for _ in range(60):
            mover.jog(validator, 0, 0.1)


# -- all of it -------------------------------------------------------------------------------------------------------------


@fixture
def few_stations(monkeypatch, few_poses):
    for module in (simulated, evaluate):
        monkeypatch.setattr(module, "Plant", partial(Plant, dt=COARSE_S))


@mark.long
def test_a_session_that_is_broken_off_again_and_again_ends_as_one_that_is_not(tmp_path, few_stations):
    folders = tmp_path / "whole", tmp_path / "broken"
    for folder in folders:
        folder.mkdir()
    whole, broken = map(Rig, folders)
    _, expected = whole.walk("links", "droop", "result")
    assert "the readings leave its" in whole.last.said  # with so few stations
    for stage in ("bare", "loaded"):
        figure = plt.imread(folders[0] / f"poses_{stage}.png")
        assert min(figure.shape[:2]) > 200 and 0.005 < np.mean(figure[..., :3].min(axis=2) < 0.6) < 0.3, "something is drawn"
    weights = {one.weight_point + (one.weight,) for one in expected.fit.readings if one.weight}
    assert whole.last.keys.count("hang") == whole.last.keys.count("take") == len(weights), "each weight is hung on once"
    visit = next(key for key in whole.last.keys if key.endswith(".elevation.forearm"))
    for where in ("forearm.balance.1", visit, "hang", "take"):
        with raises(KeyboardInterrupt):
            broken.walk("links", "droop", "result", breaks=(where,))
    person, estimate = broken.walk("links", "droop", "result")
    assert not any(key.startswith("upper_arm.mass") for key in person.keys)
    assert estimate.fit.misfit < 2.0 and not estimate.fit.outliers
    stations = [Session.open(folder, {}, {}).value("droop", "stations.bare") for folder in folders]
    assert len(stations[0]) == 3 and len(estimate.fit.readings) == len(expected.fit.readings) == 36
    for joint in ("shoulder", "elbow"):
        one, other = (some.fit.stiffness(joint) for some in (estimate, expected))
        assert one.value == approx(other.value, abs=3.0 * math.hypot(one.sd, other.sd))
    assert broken.bench.plant.payload == 0.0


@mark.long
def test_readings_that_cannot_be_are_asked_again_repeated_or_left_out(tmp_path, few_stations):
    rig = Rig(tmp_path)
    with raises(KeyboardInterrupt):
        rig.walk("links", "droop", breaks=("hang",))
    session = Session.open(tmp_path, {}, {})
    keys = [one["key"] for one in session.answers if one["step"] == "droop" and "elevation" in one["key"]]
    right = session.value("droop", keys[0])
    session.forget("droop")
    degrees = math.degrees(right)
    typed = {keys[0]: [f"{degrees + 60:.1f}", "400", "repeat"], keys[3]: ["skip"]}
    person, estimate = rig.walk("droop", typed=typed)
    assert (
        f"elevation of upper_arm is {degrees + 60:.1f} deg, expected about" in person.said
        and "upper_arm is 400 deg, must be within" in person.said
    )
    assert len({one.visit for one in estimate.fit.readings}) == 11
    assert person.keys.count(keys[0]) == 4


@mark.long
def test_the_command_rehearses_all_of_it(tmp_path, few_stations, capsys):
    commands = ArgumentParser().add_subparsers()
    command.add_parser(commands)
    words = ["--simulated", "--out", str(tmp_path), "--seed", "4", "--json", "--settle", "1.5"]
    options = commands.choices["calibrate"].parse_args(words)
    code = command.run(options)
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert code == 0 and report["hold_mm"]["after"]["median"] < report["hold_mm"]["before"]["median"]
    stiffness, mass = report["joints"]["shoulder"]["stiffness_nm_rad"], report["links"]["hand"]["mass_kg"]
    assert stiffness["found"] == approx(stiffness["truth"], rel=0.25) and mass["found"] == approx(mass["truth"], abs=3e-3)
    session = Session.open(tmp_path, json.loads((tmp_path / "session.json").read_text())["arm"], {})
    assert list(session.done) == list(command.STEP_NAMES) == [step.NAME for step in guided.STEPS]
    overlay = servos(overlay=tmp_path / "servos.calibrated.yaml")
    made = descriptions.load(tmp_path / "arm.urdf")
    ends = np.array([servo.pulse_range for servo in overlay.servos])
    assert (ends[:, 0] <= made.lower + 1e-4).all() and (ends[:, 1] >= made.upper - 1e-4).all(), "the pulses reach the limits"
    assert "within" in said.err and "picker check has passed" in said.err


def test_the_quick_way_takes_at_most_forty_answers_and_marks_what_they_do_not_tell(tmp_path, few_stations, capsys):
    commands = ArgumentParser().add_subparsers()
    command.add_parser(commands)
    words = ["--simulated", "--quick", "--out", str(tmp_path), "--seed", "0", "--json", "--settle", "1.5", "--quiet"]
    assert command.run(commands.choices["calibrate"].parse_args(words)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["answers"] <= 40 and not report["links"]
    assert report["hold_mm"]["after"]["median"] < 0.6 * report["hold_mm"]["before"]["median"]
    for joint in ("shoulder", "elbow", "wrist"):
        for key, within in (("zero_rad", math.radians(0.6)), ("scale", 0.012)):
            assert report["joints"][joint][key]["found"] == approx(report["joints"][joint][key]["truth"], abs=within), (
                joint,
                key,
            )
    overlay = servos(overlay=tmp_path / "servos.calibrated.yaml")
    assert "wrist.load_friction" in overlay.unmeasured and "shoulder.stiffness_nm_rad" not in overlay.unmeasured
    options = commands.choices["calibrate"].parse_args([*words, "--step", "map"])
    with raises(InputError, match="--quick has steps of its own"):
        command.run(options)


def test_an_earlier_overlay_is_in_the_new_one(tmp_path):
    before = tmp_path / "before.yaml"
    before.write_text(
        "board: {supply_a: 8.0}\ndefaults: {deadband_us: 4.0}\njoints:\n  base: {channel: 7, rest_rad: 0.1}\n"
        "  wrist: {channel: 9}\n"
    )
    found = "# Differences\nboard:\n  oscillator_hz: 26000000\njoints:\n  base:  # how\n    rest_rad: 0.2  # jogged\n"
    text = result.merged(found, str(before))
    assert yaml.safe_load(text) == {
        "board": {"supply_a": 8.0, "oscillator_hz": 26000000},
        "defaults": {"deadband_us": 4.0},
        "joints": {"base": {"channel": 7, "rest_rad": 0.2}, "wrist": {"channel": 9}},
    }
    assert "# jogged" in text and text.count("# as before") == 4
    assert yaml.safe_load(result.merged("# none\njoints: {}\n", str(before)))["joints"]["wrist"] == {"channel": 9}
    assert result.merged("# none\njoints: {}\n", "") == "# none\njoints: {}\n"
