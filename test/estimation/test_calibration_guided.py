"""The session's steps with a simulated arm whose numbers are hidden: what is found, what is told, and going on after a break."""

import json
import math
import time
from argparse import ArgumentParser
from dataclasses import replace

import numpy as np
from arm_fixtures import servos
from calibration_truth import ARM, BELIEVED, SIMULATED
from conftest import COARSE_S
from matplotlib import pyplot as plt
from pytest import approx, mark, raises

from picker_dynamics.commands import calibrate as command
from picker_dynamics.errors import InfeasibleError, InputError, LimitError
from picker_dynamics.estimation.calibration import arm_estimate, guided, rehearsal, simulated, step_context
from picker_dynamics.estimation.calibration.joint_map import MapPoint, mapped
from picker_dynamics.estimation.calibration.mover import Mover
from picker_dynamics.estimation.calibration.person import LeaveError
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.robot import description as descriptions
from picker_dynamics.sim.plant import Plant

WRIST = ARM.joint_names.index("wrist")


class Person(rehearsal.SimulatedPerson):
    """Looks at some joints alone, types prepared answers to some questions, and breaks off at others."""

    def __init__(self, world, rng, *, joints=ARM.joint_names, typed=(), breaks=()):
        super().__init__(world, rng)
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

    def __init__(self, folder, *, believed=BELIEVED, plant_error=0.15):
        self.folder, self.believed = folder, believed
        made = simulated.SimulatedBench.with_errors(ARM, SIMULATED, plant_error=plant_error, seed=0)
        true = made.plant
        plant = Plant(ARM, true.servo_map, plant_error=true.error, dt=COARSE_S, q=SIMULATED.rest, support=True)
        self.bench = rehearsal.BoardOnBench(plant, made.rng, believed)

    def context(self, person):
        mover = Mover(self.bench.outputs)
        return step_context.StepContext(Session.open(self.folder, {}, {}), person, mover, self.folder, when="today", settle_s=1.5)

    def walk(self, *steps, **options):
        """Some steps: who answered, and what is believed then."""
        self.last = person = Person(self.bench, np.random.default_rng(1), **options)
        context = self.context(person)
        context.switched |= {"on"} if not np.isnan(self.bench.outputs.pulses_us).any() else set()
        return person, guided.run_steps(context, arm_estimate.ArmEstimate(ARM, self.believed), steps)

    def true_angles(self, joint, pulses):
        return self.bench.plant.servo_map.servos[ARM.joint_names.index(joint)].to_angle(np.array(pulses))


def command_run(*words):
    commands = ArgumentParser().add_subparsers()
    command.add_parser(commands)
    return command.run(commands.choices["calibrate"].parse_args(words))


# -- map ------------------------------------------------------------------------------------------------------------------


def test_a_map_tells_direction_and_zero_and_doubts_slips(tmp_path):
    """The wrist turns the other way than its map says, after it did not move at all; the base is misread."""
    wrist = replace(BELIEVED.servos[WRIST], direction=1, zero=math.radians(8.0))
    believed = replace(BELIEVED, servos=(*BELIEVED.servos[:WRIST], wrist, *BELIEVED.servos[WRIST + 1 :]))
    rig = Rig(tmp_path, believed=believed)
    stuck = {f"wrist.{place}.{link}": [value] for place in (0, 1) for link, value in (("forearm", "-23"), ("hand", "-90"))}
    with raises(LeaveError, match="wrist does not move; put it right"):
        rig.walk("map", joints=("wrist",), typed={**stuck, "wrist.still": ["leave"]})
    assert "wrist does not move: it was sent 10 deg away and went 0.0 deg. Is its plug on channel 3" in rig.last.said
    session = Session.open(tmp_path, {}, {})
    session.forget("map")
    person, estimate = rig.walk("map", joints=("base", "wrist"), typed={"base.2.angle": ["67.5", "-1.18", "67.5 mm"]})
    assert "base is 67.5 deg, expected about -6" in person.said and "base is -1.2 deg" in person.said
    assert estimate.figures["base"].zero.sd < math.radians(0.2)
    assert "wrist goes the other way than the servo map says: its direction is -1 now" in person.said
    servo, pulses = estimate.servos.servos[WRIST], [900.0, 1500.0, 2100.0]
    assert servo.direction == -1 and servo.pulse_range == approx((-1.57, 1.57), abs=0.15)
    np.testing.assert_allclose(servo.to_angle(np.array(pulses)), rig.true_angles("wrist", pulses), atol=math.radians(1.2))
    assert plt.imread(tmp_path / "pose_map.png").std() > 0.05 and person.said.count("pose_map.png") == 1


def test_a_bent_servo_gets_a_bent_map_and_a_straight_one_a_line():
    servo, pulses = BELIEVED.servos[0], np.linspace(700.0, 2300.0, 5)
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
    with raises(InputError, match="moves 401 deg in 1000 us, expected about 90 deg: a position misread"):
        mapped(servo, [MapPoint(pulse, 0.007 * pulse) for pulse in pulses])
    with raises(InputError, match="take two that are further apart"):
        mapped(servo, [MapPoint(1500.0, 0.0), MapPoint(1510.0, 0.02)])


# -- limits, rest ----------------------------------------------------------------------------------------------------------


def test_limits_and_rest_are_jogged_to_and_slips_are_refused(tmp_path):
    """An Enter that nobody can have meant switches nothing on; limits too narrow are asked again; a rest pose outside of them is
    not taken; jogging ends where pulses end, and where the servos cannot surely hold."""
    rig = Rig(tmp_path, plant_error=0.0)
    typed = {
        "on.base": ["", "y"],
        "base.low": ["stop", "60", "30", "stop"],
        "base.high": ["stop", "20", "less", "20", "stop"],
        "pulses": ["base 30", "base 25", "knee 3", "base far", "done", "base 2", "done"],
    }
    person, estimate = rig.walk("limits", "rest", joints=("base",), typed=typed)
    for told in (
        "before the question can have been read",
        "too little. Once more",
        "jog by 60 deg, must be at most 30 deg at once",
        "outside its limits. Jog to another pose",
        "'knee 3' is not of the form JOINT DEGREES",
        "is no number",
    ):
        assert told in person.said, told
    assert math.degrees(estimate.known_servos.rest[0]) == approx(2.0, abs=0.5)
    ends = estimate.ends_us["base"]
    short = rig.true_angles("base", ends) - [person.stood[f"base.{end}"][0] for end in ("low", "high")]
    assert np.degrees(short) == approx([-0.6, 0.6], abs=0.1), "friction and gap held it short of where it was sent"
    stood, margin = estimate.servos.servos[0].to_angle(ends) - short, arm_estimate.LIMIT_MARGIN
    assert estimate.limits["base"] == approx(stood + [margin, -margin], abs=math.radians(0.15))
    assert estimate.known_description.lower[1] == ARM.lower[1]

    mover, validator = Mover(rig.bench.outputs), estimate.validator()
    with raises(LimitError, match="pulses end here|its pulses allow"):
        for _ in range(6):
            mover.jog(validator, 0, 0.5)
    with raises(InfeasibleError, match="shoulder|elbow"):
        for _ in range(12):
            mover.jog(validator, 2, 0.5)
            mover.jog(validator, 1, -0.5)


def test_nothing_moves_without_a_yes_that_can_be_meant(tmp_path):
    class Reader(Person):
        def answer(self, question):
            if question.key == "on.base":
                time.sleep(step_context.READING_S)
            return super().answer(question)

    rig, typed = Rig(tmp_path), {"on.base": [""], "move": ["", "n"]}
    person, estimate = Reader(rig.bench, np.random.default_rng(1), typed=typed), arm_estimate.ArmEstimate(ARM, BELIEVED)
    rig.context(person).arm(estimate)
    assert person.keys.count("on.base") == 1, "Enter is a yes once the question can have been read"
    person.keys.clear()
    with raises(LeaveError, match="nothing was moved; the arm holds"):
        rig.context(person).arm(estimate)
    assert person.keys == ["move", "move"], "all outputs run"


# -- all of it -------------------------------------------------------------------------------------------------------------


@mark.long
def test_a_session_that_is_broken_off_again_and_again_ends_as_one_that_is_not(tmp_path, few_poses):
    """Readings that cannot be are refused, a pose is come to again, another left out."""
    folders = tmp_path / "whole", tmp_path / "broken"
    for folder in folders:
        folder.mkdir()
    whole, broken = map(Rig, folders)
    _, expected = whole.walk("links", "droop", "result")
    for stage in ("bare", "loaded"):
        figure = plt.imread(folders[0] / f"poses_{stage}.png")
        assert min(figure.shape[:2]) > 200 and 0.005 < np.mean(figure[..., :3].min(axis=2) < 0.6) < 0.3, "something is drawn"
    weights = {one.weight_point + (one.weight,) for one in expected.fit.readings if one.weight}
    assert whole.last.keys.count("hang") == whole.last.keys.count("take") == len(weights), "each weight is hung on once"
    visits = [key for key in whole.last.keys if key.endswith(".elevation.forearm")]
    for where in ("forearm.balance.1", visits[0], "hang", "take"):
        with raises(KeyboardInterrupt):
            broken.walk(
                "links", "droop", "result", breaks=(where,), typed={visits[0]: ["179", "400", "repeat"], visits[1]: ["skip"]}
            )
    person, estimate = broken.walk("links", "droop", "result")
    assert not any(key.startswith("upper_arm.mass") for key in person.keys)
    assert estimate.fit.misfit < 2.0 and not estimate.fit.outliers
    stations = [Session.open(folder, {}, {}).value("droop", "stations.bare") for folder in folders]
    assert len(stations[0]) == 3 and (len(estimate.fit.readings), len(expected.fit.readings)) == (33, 36)
    for joint in ("shoulder", "elbow"):
        one, other = (some.fit.stiffness(joint) for some in (estimate, expected))
        assert one.value == approx(other.value, abs=3.0 * math.hypot(one.sd, other.sd))
    assert broken.bench.plant.payload == 0.0


@mark.long
def test_the_command_rehearses_all_of_it(tmp_path, few_poses, capsys):
    code = command_run("--simulated", "--out", str(tmp_path), "--seed", "4", "--json", "--settle", "1.5")
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
    assert "within" in said.err and "Written" in said.err


def test_the_quick_way_takes_at_most_forty_answers_and_marks_what_they_do_not_tell(tmp_path, few_poses, capsys):
    words = ["--simulated", "--quick", "--out", str(tmp_path), "--seed", "0", "--json", "--settle", "1", "--quiet"]
    assert command_run(*words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["answers"] <= 40 and not report["links"]
    assert report["hold_mm"]["after"]["median"] < 0.6 * report["hold_mm"]["before"]["median"]
    for joint in ("shoulder", "elbow", "wrist"):
        for key, within in (("zero_rad", math.radians(0.6)), ("scale", 0.012)):
            one = report["joints"][joint][key]
            assert one["found"] == approx(one["truth"], abs=within), (joint, key)
    overlay = servos(overlay=tmp_path / "servos.calibrated.yaml")
    assert "wrist.load_friction" in overlay.unmeasured and "shoulder.stiffness_nm_rad" not in overlay.unmeasured
    with raises(InputError, match="--quick has steps of its own"):
        command_run(*words, "--step", "map")
