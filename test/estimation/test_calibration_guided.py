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


class Person(rehearsal.SimulatedPerson):
    """Types prepared answers to some questions, and breaks off at others."""

    def __init__(self, world, rng, *, typed=(), breaks=()):
        super().__init__(world, rng)
        self.typed, self.breaks = {key: list(lines) for key, lines in dict(typed).items()}, set(breaks)
        self.said, self.keys = "", []

    def tell(self, text, style=""):
        self.said += f" {text}"

    def answer(self, question):
        if question.key in self.breaks:
            raise KeyboardInterrupt
        self.keys.append(question.key)
        if self.typed.get(question.key):
            return self.typed[question.key].pop(0)
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
    """The base turns the other way than its map says, after it did not move at all; the scissor is misread."""
    base = replace(BELIEVED.servos[0], direction=-BELIEVED.servos[0].direction, zero=math.radians(8.0))
    rig = Rig(tmp_path, believed=replace(BELIEVED, servos=(base, *BELIEVED.servos[1:])))
    with raises(LeaveError, match="base does not move: it was sent 10.. deg away and went 0.0 deg. Is its plug on channel 0"):
        rig.walk("map", typed={"base.0.angle": ["3"], "base.1.angle": ["3"]})
    Session.open(tmp_path, {}, {}).forget("map")
    person, estimate = rig.walk("map", typed={"scissor.2-1.angle": ["-169", "67.5 mm"], "scissor.1.angle": ["back"]})
    assert "scissor is -169.0 deg, expected about " in person.said and "unit 'mm', must be one of deg" in person.said
    assert "taken back: scissor.0.angle" in person.said and person.keys.count("scissor.0.angle") == 2
    assert "base goes the other way than the servo map says: its direction is +1 now" in person.said
    pulses = np.array([900.0, 1500.0, 2100.0])
    for joint in ("base", "scissor"):
        servo = estimate.known_servos.servos[ARM.joint_names.index(joint)]
        np.testing.assert_allclose(servo.to_angle(pulses), rig.true_angles(joint, pulses), atol=math.radians(0.5))
        assert estimate.figures[joint].zero.sd < math.radians(0.2)
    assert estimate.servos.servos[0].direction == 1 and not (tmp_path / "session.json.1").exists()
    with raises(KeyboardInterrupt):
        rig.walk("map", breaks=["base.0.angle"])
    assert (tmp_path / "session.json.1").exists(), "a step that is done is done again, and the session as it was is kept"


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
    _, expected = whole.walk("droop", "result")
    visits = [key for key in whole.last.keys if key.endswith(".elevation.forearm")]
    for where in ("on.wrist", visits[0], visits[2]):
        with raises(KeyboardInterrupt):
            broken.walk("droop", "result", breaks=(where,), typed={visits[1]: ["skip"]})
    person, estimate = broken.walk("droop", "result", typed={visits[2]: ["179", "400", "repeat"]})
    assert visits[0] not in person.keys
    assert estimate.fit.misfit < 2.0 and not estimate.fit.outliers
    stations = [Session.open(folder, {}, {}).value("droop", "stations") for folder in folders]
    assert len(stations[0]) == 4 and (len(estimate.fit.readings), len(expected.fit.readings)) == (21, 24)
    for joint in ("shoulder", "elbow"):
        one, other = (some.fit.stiffness(joint) for some in (estimate, expected))
        assert one.value == approx(other.value, abs=3.0 * math.hypot(one.sd, other.sd))


def test_few_answers_find_zeros_and_mark_what_they_do_not_tell(tmp_path, few_poses, capsys):
    words = ["--simulated", "--out", str(tmp_path), "--seed", "0", "--json", "--settle", "1"]
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
    assert command_run("--simulated", "--out", str(tmp_path / "part"), "--step", "map", "--step", "result") == 0
    assert "Without the step droop" in capsys.readouterr().out
