"""A calibration session with a board and an arm behind it, on virtual time, and a person who reads the arm's truth."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from arm_fixtures import picker, servos
from pytest import approx, fixture, raises

from picker_dynamics.board.link import Link
from picker_dynamics.errors import BoardFaultError, LinkError
from picker_dynamics.estimation import rehearsal
from picker_dynamics.estimation.calibration import arm_estimate, guided, mover, poses, questions
from picker_dynamics.estimation.calibration.session import Session, checksums
from picker_dynamics.estimation.calibration.steps import droop
from picker_dynamics.resources import resource
from picker_dynamics.sim.plant import Plant

TURNED = "joints:\n  base: {direction: -1, zero_deg: 5.0}\n"
"""What the session is told of the base's servo; in truth its direction is 1 and its zero 0."""

SETTLE_S = 1.0


class Reader(rehearsal.SimulatedPerson):
    """Does something unforeseen when asked a question for the first time."""

    def __init__(self, world, mishaps=()):
        super().__init__(world, np.random.default_rng(3))
        self.mishaps, self.told, self.keys = dict(mishaps), [], []

    def tell(self, text, style=""):
        self.told.append(text)

    def answer(self, question):
        self.keys.append(question.key)
        mishap = self.mishaps.pop(question.key, None)
        if mishap is not None:
            mishap()
        return super().answer(question)


class Bench:
    """Sessions with the board, one after the other, in one folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.arm = picker()
        self.overlay = folder / "turned.yaml"
        self.overlay.write_text(TURNED)
        self.servos = servos(overlay=self.overlay)
        self.tied = checksums(self.arm.urdf, resource("config/servos.yaml"), self.overlay)
        true = servos(ideal=True)
        self.plant = Plant(self.arm, true, dt=2e-3, q=true.rest, support=True)
        self.bench = rehearsal.BoardOnBench(self.plant, np.random.default_rng(0), self.servos)
        self.mover, self.board = self.bench.mover, self.bench.board
        self.mover.let_go()

    def walk(self, *steps, mishaps=(), then=None):
        """Some steps; who answered, what is believed, and what ``then`` makes of it."""
        person = Reader(self.bench, mishaps)
        session = Session.open(self.folder, self.tied, {})
        self.mover.take()
        try:
            context = questions.Context(session, person, self.mover, settle_s=SETTLE_S)
            estimate = guided.run_steps(context, arm_estimate.ArmEstimate(self.arm, self.servos), steps)
            return person, estimate, then and then(context, estimate)
        finally:
            self.mover.let_go()

    def interrupt_soon(self):
        """Ctrl-C while the arm moves."""
        arrived, at_s = self.board.on_arrival, self.board.now() + 0.15

        def interrupt():
            arrived()
            if self.board.now() > at_s:
                self.board.on_arrival = arrived
                raise KeyboardInterrupt

        self.board.on_arrival = interrupt

    def unplug(self):
        """The cable is pulled."""
        self.board.plugged = False


@fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("session"))


def test_ctrl_c_in_a_motion_stops_the_arm_and_keeps_what_was_answered(bench):
    with raises(KeyboardInterrupt):
        bench.walk("map", mishaps={"scissor.1.angle": bench.interrupt_soon})
    bench.board.run(1.0)
    stood = bench.plant.q
    bench.board.run(0.5)
    assert bench.plant.q == approx(stood, abs=1e-4)
    bench.mover.take()
    assert "stop" in bench.mover.faults.lower()
    bench.mover.let_go()
    session = Session.open(bench.folder, bench.tied, {})
    assert not session.done
    assert session.value("map", "base.1.pulses") and session.value("map", "base.1.angle") is not None


def test_a_pulled_cable_is_told_and_the_session_goes_on_with_what_is_open(bench):
    with raises(LinkError, match="is the board plugged in|cable pulled|is gone"):
        bench.walk("map", mishaps={"base.2-1.angle": bench.unplug})
    answered = Session.open(bench.folder, bench.tied, {}).count("map")
    assert answered > 9  # of the first two places, and the pulses of the third
    bench.board.run(0.8)
    bench.board.plugged = True
    person, estimate, _ = bench.walk("map")
    assert any("Outputs run already" in text for text in person.told)
    servo = estimate.servos.servos[0]
    true = servos(simulated=False).servos[0]
    assert servo.direction == true.direction == 1
    for pulse in (1100.0, 1900.0):
        assert servo.to_angle(pulse) == approx(true.to_angle(pulse), abs=math.radians(1.0))
    assert Session.open(bench.folder, bench.tied, {}).done.keys() == {"map"}


def test_a_station_is_read_from_both_sides_and_a_weight_that_was_left_is_taken_off_first(bench):
    seen = poses.sensors(bench.arm, ("shoulder", "elbow", "wrist"))
    station = poses.Station(np.array([1500.0, 1987.3, 2300.0, 2143.5, 1900.0]), poses.Weight(), seen)

    def look(context, estimate):
        context.step = "droop"
        reader, found = droop.StationReader(context, estimate), []
        for side in poses.SIDES:
            found.append((reader.read_station(estimate.validator(), station, side, (1, 2, 3)), bench.plant.q))
        return found

    bench.plant.attach(0.05)
    Session.open(bench.folder, bench.tied, {}).record("arm", "hanging", [0.05, 0.0, 0.0, 0.0])
    person, estimate, found = bench.walk("map", mishaps={"take": lambda: bench.plant.attach(0.0)}, then=look)
    assert person.keys.count("take") == 1
    for values, q in found:
        assert values == approx([q[1], q[1] + q[2], q[1] + q[2] + q[3]], abs=math.radians(1.5))
    assert bench.plant.payload == 0.0


def test_a_set_point_that_jumps_is_refused_and_moves_nothing(bench):
    outputs = bench.mover
    outputs.take()
    try:
        outputs.reset()
        outputs.adopt()
        rest = bench.servos.to_pulse_us(bench.servos.rest)
        for joint in np.flatnonzero(~outputs.live).tolist():  # where no test before has switched them on
            outputs.switch_on(joint, rest[joint])
        held = outputs.pulses_us
        with raises(BoardFaultError, match="AWAY: it did not start from the held pose: wrist is .* allowed"):
            outputs.play((held + np.array([0.0, 0.0, 0.0, 60.0, 0.0]))[None])
        outputs.wait(0.3)
        np.testing.assert_array_equal(outputs.pulses_us, held)
    finally:
        outputs.let_go()


def test_another_arms_board_is_refused(bench):
    link = Link("memory", clock=bench.board, open_port=bench.board.open)
    outputs = mover.Mover(link, replace(bench.servos, servos=bench.servos.servos[:4]), bench.board)
    with raises(BoardFaultError, match="was flashed for 5 joints, the servo map has 4"):
        outputs.take()
