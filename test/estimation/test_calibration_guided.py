"""The session's steps with a simulated arm whose numbers are hidden: what is found, what is told, and going on after a break."""

import json
import math
from argparse import ArgumentParser
from dataclasses import replace

import numpy as np
from arm_fixtures import servos
from calibration_truth import ARM, BELIEVED, COARSE_S, SIMULATED
from pytest import approx, mark, raises

from picker_dynamics.commands import calibrate as command
from picker_dynamics.errors import InputError
from picker_dynamics.estimation import rehearsal
from picker_dynamics.estimation.calibration import arm_estimate, guided, questions
from picker_dynamics.estimation.calibration.questions import LeaveError
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.estimation.calibration.steps.map import mapped
from picker_dynamics.sim.plant import Plant

WRIST = ARM.joint_names.index("wrist")


class Person(rehearsal.SimulatedPerson):
    """Looks at some joints alone, types prepared answers to some questions, and breaks off at others."""

    def __init__(self, world, rng, *, joints=ARM.joint_names, typed=(), breaks=()):
        super().__init__(world, rng)
        self.joints, self.typed, self.breaks = joints, {key: list(lines) for key, lines in dict(typed).items()}, set(breaks)
        self.said, self.keys = "", []

    def tell(self, text, style=""):
        self.said += f" {text}"

    def answer(self, question):
        if question.key in self.breaks:
            raise KeyboardInterrupt
        self.keys.append(question.key)
        if self.typed.get(question.key):
            return self.typed[question.key].pop(0)
        joint, _, what = question.key.partition(".")
        if what == "how" and joint in ARM.joint_names and joint not in self.joints:
            return "keep"
        return super().answer(question)


class Rig:
    """A simulated arm and sessions with it, in one folder."""

    def __init__(self, folder, *, believed=BELIEVED, plant_error=0.15):
        self.folder, self.believed = folder, believed
        made = rehearsal.SimulatedBench.with_errors(ARM, SIMULATED, plant_error=plant_error, seed=0)
        true = made.plant
        plant = Plant(ARM, true.servo_map, plant_error=true.error, dt=COARSE_S, q=SIMULATED.rest, support=True)
        self.bench = rehearsal.BoardOnBench(plant, made.rng, believed)

    def context(self, person):
        mover = self.bench.mover
        return questions.Context(Session.open(self.folder, {}, {}), person, mover, when="today", settle_s=1.5)

    def walk(self, *steps, **options):
        """Some steps: who answered, and what is believed then."""
        self.last = person = Person(self.bench, np.random.default_rng(1), **options)
        context = self.context(person)
        context.on = not np.isnan(self.bench.mover.pulses_us).any()
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
    with raises(LeaveError, match="wrist does not move: it was sent 10.. deg away and went 0.0 deg. Is its plug on channel 3"):
        rig.walk("map", joints=("wrist",), typed=stuck)
    session = Session.open(tmp_path, {}, {})
    session.forget("map")
    person, estimate = rig.walk("map", joints=("base", "wrist"), typed={"base.2-1.angle": ["-169", "67.5 mm"]})
    assert "base is -169.0 deg, expected about -6" in person.said and "unit 'mm', must be one of deg" in person.said
    zero = estimate.figures["base"].zero
    assert zero.sd < math.radians(0.2)
    true = rig.true_angles("base", [900.0, 1500.0, 2100.0])
    np.testing.assert_allclose(estimate.known_servos.servos[0].to_angle([900.0, 1500.0, 2100.0]), true, atol=math.radians(0.5))
    assert "wrist goes the other way than the servo map says: its direction is -1 now" in person.said
    servo, pulses = estimate.servos.servos[WRIST], [900.0, 1500.0, 2100.0]
    assert servo.direction == -1 and servo.pulse_range == approx((-1.57, 1.57), abs=0.15)
    np.testing.assert_allclose(servo.to_angle(np.array(pulses)), rig.true_angles("wrist", pulses), atol=math.radians(1.2))


def test_a_map_keeps_its_bends_and_gets_zero_and_scale():
    servo = replace(BELIEVED.servos[0], pulses_us=(500.0, 1300.0, 2500.0), horn_angles=(-1.5, -0.4, 1.6))
    pulses = np.array([700.0, 2300.0, 1500.0])
    true = replace(servo, zero=servo.zero + 0.1, horn_angles=tuple(1.05 * one for one in servo.horn_angles))
    found = mapped(servo, list(zip(pulses, true.to_angle(pulses))))
    assert found.to_angle(pulses) == approx(true.to_angle(pulses)) and found.pulses_us == servo.pulses_us
    with raises(InputError, match="moves 2.00 times as far as the servo map says: a position misread"):
        mapped(servo, list(zip(pulses, 2.0 * servo.to_angle(pulses))))


def test_nothing_moves_without_a_yes(tmp_path):
    rig, typed = Rig(tmp_path), {"on.base": ["", "y"], "move": ["", "n"]}
    person, estimate = Person(rig.bench, np.random.default_rng(1), typed=typed), arm_estimate.ArmEstimate(ARM, BELIEVED)
    rig.context(person).arm(estimate)
    assert person.keys.count("on.base") == 2, "Enter alone is none"
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


def test_the_quick_way_takes_few_answers_and_marks_what_they_do_not_tell(tmp_path, few_poses, capsys):
    words = ["--simulated", "--quick", "--out", str(tmp_path), "--seed", "0", "--json", "--settle", "1"]
    assert command_run(*words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["answers"] <= 44 and not report["links"]
    assert report["hold_mm"]["after"]["median"] < 0.6 * report["hold_mm"]["before"]["median"]
    for joint in ("shoulder", "elbow", "wrist"):
        for key, within in (("zero_rad", math.radians(0.6)), ("scale", 0.012)):
            one = report["joints"][joint][key]
            assert one["found"] == approx(one["truth"], abs=within), (joint, key)
    overlay = servos(overlay=tmp_path / "servos.calibrated.yaml")
    assert "wrist.load_friction" in overlay.unmeasured and "shoulder.stiffness_nm_rad" not in overlay.unmeasured
    with raises(InputError, match="--quick has steps of its own"):
        command_run(*words, "--step", "map")
