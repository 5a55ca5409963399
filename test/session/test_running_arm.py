"""A whole arm by its settings, on virtual time: its board in memory, the true arm on it, and the loop called by the test."""

import time
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import any_arms
import numpy as np
import pytest
from arm_rig import HOME, PERIOD_S, REST, Rig
from waiting import begun, until

from picker_dynamics import Arm
from picker_dynamics.board.request_gate import SETTLE_S
from picker_dynamics.board.session import State, what_enables
from picker_dynamics.controller.controller import UNCONFIRMED
from picker_dynamics.dynamics.lagrangian import chain_torque
from picker_dynamics.errors import BoardFaultError, ConfigurationError, InfeasibleError, InputError, LinkError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.resources import resource
from picker_dynamics.robot.scene import scene_shape
from picker_dynamics.session import process
from picker_dynamics.session.address import Claim
from picker_dynamics.session.entry import ERROR, WARN
from picker_dynamics.session.local import OpenedSession
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import PARK_SPEED
from picker_dynamics.session.served import ServedSession
from picker_dynamics.sim.firmware_core import VirtualFirmware


@pytest.mark.parametrize("driven", [False, True])
def test_a_payload_is_held_to_wherever_the_arm_may_be(driven):
    one = Rig()
    if driven:
        one.adopt()
    change = one.arm.settings["dynamics"].change
    for values, said in (
        ({"payload.mass": 2.0}, "needs"),
        ({"payload.mass": 0.3, "payload.com": [-0.9, 0.0, 0.0]}, "needs|from the tool"),
    ):
        with pytest.raises(PickerError, match=said) as caught:
            change(values)
        assert isinstance(caught.value, InfeasibleError) and caught.value.subject and caught.value.value > caught.value.limit
        assert one.arm.controller.payload.mass == 0.0
    change({"payload.mass": 0.02})
    assert one.arm.controller.payload.mass == 0.02
    change({"payload.mass": 0.01})
    assert one.arm.controller.payload.mass == 0.01, "a smaller one is always taken"


def test_it_does_not_begin_with_what_it_holds_neither_at_rest_nor_at_home():
    with pytest.raises(InfeasibleError, match="needs"):
        Rig(dynamics__payload__mass=2.0)


def test_settings_that_do_not_fit_at_the_start_are_named():
    for settings, said in (
        ({"trajectory_controller__rate_hz": 300.0}, "rate_hz is 300, must be 10 to 200"),
        ({"hardware__on_shutdown": "drop"}, "on_shutdown is 'drop', must be one of hold, park, relax"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            Rig(**settings)


def test_the_event_that_accepts_a_goal_says_how_its_motion_ends():
    one = Rig(str(resource("config/servos.sim.yaml"))).adopt()
    one.move(HOME - [0.0, 0.05, 0.0, 0.0, 0.0])
    one.run(1.0)
    accepted = next(event for event in one.events if event.kind is EventKind.ACCEPTED)
    values = Report(one.arm).event(accepted).values
    assert values["approach"] == "base, shoulder" and 0.2 <= float(values["approach_s"]) <= 0.4
    assert abs(float(values["side_off_mm"])) < 1.5


def test_the_compensation_is_switched_off_or_on_at_rest_only_and_the_arm_droops_until_it_has_risen():
    one = Rig().adopt()
    change, law = one.arm.settings["dynamics"].change, one.arm.controller.law
    one.run(1.0)
    assert not law.droops
    one.move(HOME + [0.5, 0.0, 0.0, 0.0, 0.0], 2.0)
    one.run(1.0)
    with pytest.raises(InputError, match="from full to none at rest only"):
        change({"compensation": "none"})
    assert one.arm.settings["dynamics"]["compensation"] == "full"
    one.run(3.0)
    change({"compensation": "none"})
    assert law.droops
    one.run(2.0)
    change({"compensation": "gravity"})
    assert law.droops, "it hangs low still"
    one.run(2.0)
    assert not law.droops


def test_a_board_that_says_nothing_gets_no_set_points_and_no_goal_is_taken():
    one = Rig().adopt()
    answers = one.move(HOME + [0.5, 0.0, 0.0, 0.0, 0.0], 4.0)
    one.run(1.0)
    one.board.on_arrival = lambda: None
    one.outputs.link.poll = lambda: None
    sent = []
    one.session.subscribe(lambda cycle: sent.append(cycle.sent))
    one.run(0.6)
    assert [answer.outcome for answer in answers] == [Outcome.ABORTED] and UNCONFIRMED in answers[0].text
    assert not any(sent[-20:]) and one.execution.lease.blocked == UNCONFIRMED
    refused = one.move(HOME, 2.0)
    one.run(0.1)
    assert refused and UNCONFIRMED in refused[0].text


def test_on_a_board_of_other_limits_the_status_says_what_to_do_and_accepting_it_enables():
    one = Rig()
    report = Report(one.arm)
    served, there = ServedSession(one.arm, report), one.board.firmware
    one.board.plugged = False
    one.run(0.1)
    other = replace(there.config, joints=tuple(replace(one, speed=2 * one.speed) for one in there.config.joints))
    one.board.firmware = VirtualFirmware(other, now_us=round(1e6 * one.board.now()), found_us=there.pulses_us)
    one.board.plugged = True
    one.arm.connect()
    status = report.hardware_status()
    assert what_enables(status.values) == "picker enable --accept-board" and status.level == ERROR
    assert status.message.startswith("the board was flashed for other pulse or speed limits (checksum 0x")
    with pytest.raises(BoardFaultError, match="flashed for other"):
        served.enable(False)
    assert served.accept_board().startswith("accepted: ") and what_enables(report.hardware_status().values) == "picker enable"
    served.enable(False)
    one.run(0.3)
    report.refresh()
    board = report.entries["hardware: board"]
    assert one.outputs.state is State.ACTIVE and board.level == WARN and board.message.startswith("accepted: the board was fl")


def test_shapes_are_added_all_or_none():
    pytest.importorskip("coal")
    one = Rig(trajectory_controller__collision__enabled=True).adopt()
    around, execution = one.arm.surroundings, one.execution
    before = execution.limits.further
    target = HOME + [0.6, 0.0, 0.0, 0.0, 0.0]
    tip = one.arm.model.forward_kinematics(target)
    box = scene_shape("post", "box", [0.05, 0.05, 0.4], [float(tip[0]), float(tip[1]), 0.2], np.eye(3), "scene")
    with pytest.raises(ConfigurationError, match="200"):
        around.add({f"box {i}": box for i in range(300)})
    assert not around.added and execution.limits.further == before


def parking(one: Rig, hurry: list[int]):
    """Park in a thread, and run the loop until the arm is on its way; what ends that returns the error, or None."""
    errors: list[PickerError | None] = []

    def park() -> None:
        try:
            one.arm.leave(lambda: bool(hurry))
            errors.append(None)
        except PickerError as error:
            errors.append(error)

    def step() -> None:
        one.run(0.05)
        time.sleep(0.002)

    one.arm.settings["hardware"].change({"on_shutdown": "park"})
    begun(park)
    until(lambda: one.execution.phase.value == "executing" and one.execution.limits.tip_speed == PARK_SPEED, "it", step=step)
    return lambda: until(lambda: errors, "the end of parking", step=step)[0]


def test_parking_ends_a_motion_first_and_brings_the_true_arm_slowly_to_its_rest_pose():
    one = Rig().adopt()
    one.move(HOME + [0.8, 0.0, 0.0, 0.0, 0.0], 4.0)
    one.run(1.0)
    one.tips.clear()
    end = parking(one, [])
    refused = one.move(HOME, 2.0)
    assert end() is None and refused and "park" in refused[0].text
    one.run(1.0)
    assert np.abs(one.plant.q - REST).max() < 0.03
    steps = np.linalg.norm(np.diff(np.array(one.tips), axis=0), axis=1) / PERIOD_S
    after = np.convolve(steps, np.ones(10) / 10.0, "valid")[100:]
    assert after.max() < 1.2 * PARK_SPEED, "smoothed over 0.1 s: the arm swings on its servos"


@pytest.mark.parametrize("how, said", [("hurried", "ended at once"), ("stopped", "not parked")])
def test_parking_ends_where_it_is_hurried_or_stopped_and_says_so(how, said):
    one, hurry = Rig().adopt(), []
    end = parking(one, hurry)
    hurry.append(1) if how == "hurried" else one.session.stop()
    assert said in str(end())
    one.run(1.0)
    assert np.abs(one.plant.q - REST).max() > 0.05 and one.outputs.stop_latched


def test_a_reset_or_enable_that_was_asked_before_a_stop_does_not_undo_it():
    """They come out of a queue behind the stop, for longer than it waits by itself."""
    one, late = Rig().adopt(), 0
    wait_s = 2.0 * SETTLE_S

    def pass_time() -> None:
        nonlocal late
        if one.board.now() < begin_s + wait_s:
            with pytest.raises(BoardFaultError, match="stopped after this was asked"):
                served.carry_out(*(("enable", {"at_rest_pose": True}) if late % 2 else ("reset", {})))
            late += 1
        one.run(PERIOD_S)

    served, begin_s = ServedSession(one.arm, Report(one.arm)), one.board.now()
    assert served.stop().startswith("stopped")
    while one.session.gate.settling:
        pass_time()
    assert one.board.now() >= begin_s + wait_s and late > 20
    assert one.outputs.stop_latched and one.outputs.state is State.IDLE
    with pytest.raises(BoardFaultError, match="stop is latched"):
        served.enable(True)
    served.reset()
    served.enable(True)
    one.run(3.0)
    assert one.outputs.state is State.ACTIVE, "who asks after the answer passes"


def test_each_stop_reset_and_enable_begins_an_epoch_of_requests_whoever_asks_for_it():
    one = Rig()
    gate, epochs = one.session.gate, []
    for act in (
        lambda: one.session.enable(at_rest_pose=False),
        lambda: one.session.enable(at_rest_pose=False),  # it is already
        one.session.stop,
        one.session.reset,
        lambda: one.session.enable(at_rest_pose=False),
        one.outputs.stop,  # too hot, a hand at the board
        one.session.relax,
        one.session.disable,
    ):
        act()
        one.run(0.5)
        epochs.append(gate.epoch)
    begun = np.diff(epochs).tolist()
    assert begun == [0, 1, 1, 1, 1, 1, 1] and one.board.now() > gate.since_s > 0.0


@pytest.mark.parametrize("whose", ["a script's", "a process's"])
def test_a_control_loop_that_fails_ends_the_motion_under_way_with_its_reason(whose, monkeypatch, tmp_path):
    one, target = Rig().adopt(), HOME + [0.5, 0.0, 0.0, 0.0, 0.0]

    def live_and_fail(_cycle) -> None:
        one.board.run(PERIOD_S)
        if one.plant.q[0] > HOME[0] + 0.05:
            raise ArithmeticError("no root")

    one.session.subscribe(live_and_fail)
    if whose == "a script's":
        one.arm.clock = SimpleNamespace(now=one.board.now, sleep=time.sleep)  # its thread alone lets time pass
        with closing(OpenedSession(one.arm)) as session, pytest.raises(LinkError, match="the control loop ended: no root"):
            session.move_to(4.0, target)
        return
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in ("tame_collector", "end_soon"):
        monkeypatch.setattr(process, name, lambda: None)
    answers, last, claim = one.move(target, 4.0), [], Claim("")
    with closing(claim), pytest.raises(ArithmeticError, match="no root"):
        process.run(one.arm, Report(one.arm), claim, [], last_words=last.extend)
    assert [answer.outcome for answer in answers] == [Outcome.ABORTED] and "ends" in answers[0].text
    assert answers[0].text in [event.text for event in last] and not one.outputs.link.connected


def test_a_cycle_of_an_arm_of_many_joints_has_few_equations_by_hand(monkeypatch):
    """They cost a tenth of a period each: two for the guard, of the acceleration that is sent and of the one that is implied."""
    plain, asked = chain_torque.inverse_dynamics, []
    with Arm.simulated(any_arms.urdf("four_joint"), real_time=False) as arm:
        monkeypatch.setattr(chain_torque, "inverse_dynamics", lambda *state: asked.append(0) or plain(*state))
        arm.move(turn=0.3, wait=False)
        arm.wait(0.1)  # it is planned, and on its way
        asked.clear()
        arm.wait(0.2)
        assert len(asked) == 2 * 20
