"""An arm on bus servos: the whole loop down to the bytes on virtual time, judged by the true arm and by what was written."""

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from arm_rig import HOME, PERIOD_S, outcome
from bus_rig import NAMES, SERVOS, BusRig
from generated import LONG

from picker_dynamics.board.session import State
from picker_dynamics.bus import goal_sender
from picker_dynamics.bus.bus_session import MISSING
from picker_dynamics.bus.dialects import SCS
from picker_dynamics.bus.goal_sender import PAUSE_S
from picker_dynamics.controller import parameters
from picker_dynamics.errors import BoardFaultError, ConfigurationError, LimitError, LinkError
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.resources import resource
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.sim.bus_in_memory import noise

SO101 = str(resource("urdf/so101.urdf"))
AWAY = HOME + [0.5, 0.15, 0.1, 0.0, 0.0]
ARRIVED_S = 2.5
NEAR = HOME + [0.2, 0.1, 0.05, 0.0, 0.0]
ALLOWED, SWING = 0.25, 1.12
"""Speed of the tip that motions are held to [m/s], and by how much the true one may exceed it: servos are springs."""

STEP = 2 * math.pi / 4096
TRUE_RAD = 0.005
"""Within which the compensated arm comes to rest [rad]: its play is 0.0044 to either side."""


def driven(**named) -> BusRig:
    """An arm at home that takes commands."""
    return BusRig(q=HOME, **named).enable()


def moving(seconds: float = 0.7, **named) -> BusRig:
    """An arm in full swing."""
    rig = driven(**named)
    rig.answers = rig.move(AWAY)
    rig.run(seconds)
    assert np.abs(rig.plant.v).max() > 0.2
    rig.tips, rig.q = rig.tips[-5:], rig.q[-5:]
    return rig


def require_small_steps(rig: BusRig) -> None:
    """No goal was written further from the one before than set-points may move in ``PAUSE_S``."""
    most = rig.arm.servos.setpoint_speed * PAUSE_S / STEP + 1.0
    for (_, before), (_, after) in zip(rig.bus.goals, rig.bus.goals[1:]):
        for servo in before.keys() & after.keys():
            assert abs(after[servo][0] - before[servo][0]) <= most[servo - 1]


# -- connecting --------------------------------------------------------------------------------------------------------


def test_what_is_there_is_said_and_nothing_moves():
    rig = BusRig()
    said = str(rig.outputs.problem)
    assert said == "5 STS3215, firmware 3.10, 6.0 V, 30 deg C at most (base), torque off"
    rig.run(0.5)
    assert rig.outputs.state is State.IDLE and not rig.bus.goals and not any(servo.torque for servo in rig.bus.servos)
    assert rig.arm.provenance == "measured" and np.abs(rig.cycles[-1].state.q - rig.plant.q).max() <= 0.51 * STEP


def test_the_report_has_what_each_servo_measures():
    rig = BusRig()
    report = Report(rig.arm)
    rig.run(0.02)
    bus, state = report.entries["hardware: bus"], report.entries["hardware: joint state"]
    assert bus.values["volt.elbow"] == "6.0" and bus.values["celsius.base"] == "30" and bus.values["lost.wrist"] == "0"
    assert state.values["provenance"] == "measured" and report.hardware_facts()["provenance"] == "measured"
    assert {"hardware: timing", "hardware: robot description"} <= report.entries.keys()


def test_somebody_elses_set_points_are_not_taken():
    known = BusRig(connect=False).arm.known
    settings = parameters.settings({})
    with pytest.raises(ConfigurationError, match="take commands of this arm's own controller alone"):
        RunningArm(settings, known=known, passive=True)


def wrong(joint: int, **put):
    def change(bus):
        for name, value in put.items():
            bus.servos[joint].put(name, value)

    return change


def weak(bus):
    bus.plant.feed(0.4)
    bus.run(0.01)


@pytest.mark.parametrize(
    ("before", "error", "said"),
    [
        (partial(lambda bus: bus.power(False, [2])), LinkError, "elbow (servo 3) does not answer"),
        (wrong(3, model=1284), BoardFaultError, "wrist (servo 4) is model 1284, not STS3215 (777)"),
        (wrong(1, mode=1), BoardFaultError, "shoulder (servo 2) is in mode 1, must be in position mode"),
        (weak, BoardFaultError, "the servos' supply reads 2.40 V, must be 3.6 ... 8.4 V; 6 V are assumed"),
    ],
)
def test_what_cannot_be_this_arm_is_refused_with_joint_and_value(before, error, said):
    with pytest.raises(error) as raised:
        BusRig(before=before)
    assert str(raised.value).startswith(said)


def test_two_servos_of_one_id_are_no_answer():
    def doubled(bus):
        bus.harm = lambda servo, frame: bytes(a & b for a, b in zip(frame, bytes(1) + frame)) if servo == 2 else frame

    with pytest.raises(LinkError, match=r"shoulder \(servo 2\) does not answer.*two servos with one id"):
        BusRig(before=doubled)


# -- on and off --------------------------------------------------------------------------------------------------------


def test_it_is_enabled_where_it_is_and_torque_rises():
    rig = BusRig(q=HOME)
    rig.enable()
    (_, first), *_ = rig.bus.goals
    for joint, servo in enumerate(rig.bus.servos):
        goal, limit = first[servo.id]
        horn = SERVOS.servos[joint].zero + SERVOS.servos[joint].direction * HOME[joint]
        assert abs(goal - 2048 - horn / STEP) <= 1.0 and limit == 100
    limits = [goals[1][1] for _, goals in rig.bus.goals if 1 in goals]
    assert (np.diff(limits) >= 0).all() and np.diff(limits).max() <= 20 and limits[-1] == 1000
    assert np.abs(np.diff(rig.q, axis=0)).max() < 0.02


def test_outputs_that_run_are_adopted_and_keep_their_torque():
    rig = driven()
    rig.arm.disconnect()
    before = rig.plant.q
    rig.bus.run(2.0)
    assert np.abs(rig.plant.q - before).max() < 0.002, "the arm holds when the program has ended"
    rig.arm.connect(0.0)
    rig.bus.goals.clear()
    rig.due_s = rig.bus.now()
    assert "adopted" in rig.session.enable(at_rest_pose=False)
    rig.run(1.5)
    assert rig.outputs.state is State.ACTIVE and {limit for _, goals in rig.bus.goals for _, limit in goals.values()} == {1000}
    assert np.abs(rig.plant.q - before).max() < 0.01


def test_torque_that_had_not_risen_goes_on_from_where_it_was():
    rig = BusRig(q=HOME)
    rig.session.enable(at_rest_pose=False)
    rig.run(0.4)
    rig.session.stop()
    rig.run(0.1)
    rig.session.reset()
    rig.bus.goals.clear()
    rig.enable()
    limits = [goals[1][1] for _, goals in rig.bus.goals]
    assert 300 < limits[0] < 600 and np.diff(limits).max() <= 20 and limits[-1] == 1000


def test_disable_and_relax_switch_off_and_relax_latches():
    rig = driven()
    rig.session.disable()
    assert not any(servo.torque for servo in rig.bus.servos)
    rig.run(0.3)
    assert rig.outputs.outputs == "off" and rig.outputs.state is State.IDLE
    rig.bus.goals.clear()
    rig.enable()
    require_small_steps(rig)
    rig.session.relax()
    assert not any(servo.torque for servo in rig.bus.servos)
    rig.run(0.3)
    with pytest.raises(BoardFaultError, match="call reset first"):
        rig.session.enable(at_rest_pose=False)
    rig.session.reset()
    rig.run(0.3)
    assert not any(servo.torque for servo in rig.bus.servos)


def test_a_joint_beyond_its_range_is_not_enabled():
    def limited(bus):
        bus.servos[0].put("position_min", 2400)

    rig = BusRig(q=HOME, before=limited)
    with pytest.raises(LimitError, match="base: 0.0 deg is outside 30.9 deg"):
        rig.session.enable(at_rest_pose=False)
    assert not rig.bus.goals


# -- motions -----------------------------------------------------------------------------------------------------------


def test_a_goal_is_reached_by_the_true_arm_on_its_path():
    rig = driven()
    answers = rig.move(AWAY)
    rig.run(0.7 + ARRIVED_S)
    assert outcome(answers) is Outcome.SUCCEEDED and np.abs(rig.plant.q - AWAY).max() < TRUE_RAD
    assert 0.9 * ALLOWED < rig.fastest() <= SWING * ALLOWED
    off = [np.abs(one.state.q - one.tick.reference.q).max() for one in rig.cycles if one.tick.reference is not None and one.sent]
    assert max(off) < 0.05
    require_small_steps(rig)


def test_an_so101_is_driven_by_its_own_servo_map():
    rig = BusRig(urdf=SO101)
    assert rig.outputs.ids == (1, 2, 3, 4, 5, 6) and str(rig.outputs.problem).startswith("6 STS3215, firmware 3.10, 7.4 V")
    rig.enable()
    goal = rig.plant.q + [0.3, 0.2, -0.2, 0.1, 0.3, 0.3]
    answers = rig.move(goal)
    rig.run(5.0)
    assert outcome(answers) is Outcome.SUCCEEDED and np.abs(rig.plant.q - goal).max() < 0.01
    require_small_steps(rig)


@pytest.mark.parametrize(("register", "value", "said"), [("p_gain", 32, "p_gain 16"), ("offset", 5, "homing_offset -12")])
def test_a_servo_that_is_set_up_otherwise_than_its_map_says_is_refused(register, value, said, tmp_path):
    overlay = tmp_path / "offset.yaml"
    overlay.write_text("joints:\n  elbow_flex: {homing_offset: -12}\n")
    with pytest.raises(BoardFaultError, match=rf"elbow_flex \(servo 3\) has {register} {value}, the servo map says {said}"):
        BusRig(urdf=SO101, overlay=str(overlay), before=wrong(2, **{register: value}))


def test_scs_servos_which_are_read_one_by_one_are_driven_at_50_hz():
    rig = driven(dialect=SCS, period_s=0.02)
    answers = rig.move(AWAY)
    rig.run(0.7 + ARRIVED_S)
    assert outcome(answers) is Outcome.SUCCEEDED and np.abs(rig.plant.q - AWAY).max() < TRUE_RAD
    assert np.diff([one.now_s for one in rig.cycles]).max() < 0.021, "or the bus is too slow"


def test_cancel_and_stop_end_in_rest_and_reset_does_not_move():
    rig = moving()
    rig.session.cancel()
    rig.run(1.0)
    assert outcome(rig.answers) is Outcome.CANCELED and np.abs(rig.plant.v).max() < 1e-3
    rig = moving()
    rig.session.stop()
    rig.run(1.0)
    assert outcome(rig.answers) is Outcome.ABORTED and rig.outputs.state is State.IDLE
    assert rig.fastest() <= SWING * ALLOWED and np.abs(rig.plant.v).max() < 1e-3
    before = rig.plant.q
    rig.session.reset()
    rig.enable()
    assert np.abs(rig.plant.q - before).max() < 1e-3
    answers = rig.move(HOME)
    rig.run(ARRIVED_S)
    assert outcome(answers) is Outcome.SUCCEEDED and np.abs(rig.plant.q - HOME).max() < TRUE_RAD
    require_small_steps(rig)


@pytest.mark.parametrize(
    ("q_cmd", "said"),
    [
        (HOME + [math.nan, 0, 0, 0, 0], "base: the set-point is nan"),
        (HOME + [9.0, 0, 0, 0, 0], None),
        (HOME + [0.1, 0, 0, 0, 0], None),
    ],
)
def test_a_set_point_that_may_not_be_is_not_written(q_cmd, said):
    rig = driven()
    rig.run(0.5)
    count, goal = len(rig.bus.goals), rig.bus.goals[-1]
    if said is None:
        assert not rig.outputs.command(q_cmd, rig.bus.now()) and rig.outputs.sender.counts.away == 1
    else:
        with pytest.raises(ValueError, match=said):
            rig.outputs.command(q_cmd, rig.bus.now())
    assert len(rig.bus.goals) == count and rig.bus.goals[-1] is goal
    rig.run(0.5)
    assert np.abs(rig.plant.q - HOME).max() < 0.05 and rig.outputs.state is State.ACTIVE


def test_what_is_held_is_where_the_joints_are_or_are_held():
    rig = driven()
    sender = rig.outputs.sender
    with pytest.raises(LimitError, match="base: a goal jumps by 8.6 deg, allowed 6.9 deg"):
        sender.hold(rig.outputs.measured.q + [0.15, 0, 0, 0, 0], sender.torque, rig.bus.now())


def test_a_set_point_may_go_to_the_end_of_the_range_and_no_further():
    rig = driven()
    sender = rig.outputs.sender
    sender.upper = np.array(sender.goals)
    with pytest.raises(LimitError, match="is outside"):
        sender.send(rig.bus.now(), sender.goals + 1e-3, rig.bus.now())


# -- the line ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", [noise(drop=0.05), noise(truncate=0.02), noise(corrupt=0.02)], ids=["drop", "cut", "corrupt"])
def test_replies_that_are_lost_or_damaged_are_samples_that_are_missing(harm):
    rig = driven()
    rig.bus.harm = harm
    answers = rig.move(AWAY)
    rig.run(ARRIVED_S)
    assert outcome(answers) is Outcome.SUCCEEDED and rig.outputs.epoch == 1 and rig.outputs.measured.lost.sum() > 10
    assert max(one.now_s - one.state.time_s for one in rig.cycles) <= (MISSING + 1) * PERIOD_S
    assert rig.fastest() <= SWING * ALLOWED
    require_small_steps(rig)


def test_a_sum_that_is_right_by_chance_moves_no_joint_by_a_turn():
    def lies(servo, frame):
        if servo != 1 or len(frame) < 30:
            return frame
        body = bytearray(frame[2:-1])
        body[3 + 16 + 1] ^= 4  # 1024 steps
        return frame[:2] + bytes(body) + bytes((~sum(body) & 0xFF,))

    rig = driven()
    rig.bus.harm = lies
    rig.run(0.01 * (MISSING - 2))
    assert rig.outputs.measured.lost[0] == MISSING - 2 and np.abs(rig.cycles[-1].state.q - rig.plant.q).max() < 0.01
    rig.bus.harm = lambda _servo, frame: frame
    rig.run(0.1)
    assert rig.outputs.state is State.ACTIVE


def test_a_servo_that_does_not_answer_is_a_fault_that_names_its_joint():
    rig = moving()
    rig.bus.harm = lambda servo, frame: b"" if servo == 3 else frame
    rig.run(0.01 * (MISSING + 2))
    assert outcome(rig.answers) is Outcome.ABORTED
    assert "elbow (servo 3): no answer for 5 cycles" in rig.outputs.problem and rig.outputs.state is State.OFFLINE
    rig.bus.harm = lambda _servo, frame: frame
    rig.run(1.0)
    assert np.abs(rig.plant.v).max() < 1e-3
    before = rig.plant.q
    rig.arm.connect(0.0)
    assert rig.outputs.problem.startswith("the servos are back: 5 STS3215")
    rig.due_s = rig.bus.now()
    with pytest.raises(BoardFaultError, match="elbow.*call reset first"):
        rig.session.enable(at_rest_pose=False)
    rig.session.reset()
    rig.enable()
    assert np.abs(rig.plant.q - before).max() < 0.01
    require_small_steps(rig)


@pytest.mark.parametrize("pause_s", [0.05, 0.2, 1.0])
def test_a_stall_of_the_host_delays_the_motion_and_nothing_leaps(pause_s):
    rig = moving()
    rig.run(pause_s, stalls=True)
    rig.run(ARRIVED_S)
    assert outcome(rig.answers) is Outcome.SUCCEEDED and rig.outputs.epoch == 1
    assert np.abs(rig.plant.q - AWAY).max() < TRUE_RAD and rig.fastest() <= SWING * ALLOWED
    require_small_steps(rig)


REQUESTS = {
    "another goal": lambda rig: rig.move(HOME),
    "cancel": lambda rig: rig.session.cancel(),
    "slower": lambda rig: rig.session.change(speed=0.4),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=list(REQUESTS))
def test_what_is_asked_while_the_host_stalls_goes_on_from_where_the_motion_is(request_):
    rig = moving()
    for pause_s in (0.02, 0.1):
        rig.run(pause_s, stalls=True)
        request_(rig)
        rig.run(0.1, stalls=True)
        rig.run(0.15)
    assert rig.execution.guard_stopped == 0 and rig.outputs.sender.counts.away == 0 and rig.fastest() <= SWING * ALLOWED
    require_small_steps(rig)


def test_a_stall_at_rest_takes_nothing_from_the_time_in_which_friction_lets_go():
    rig = driven()
    answers = rig.move(AWAY)
    while not answers:
        rig.run(0.01)
    rig.run(0.3)
    rig.set_points.clear()
    rig.run(0.05)
    before = np.abs(np.diff(rig.set_points, axis=0)).max()
    rig.run(0.1, stalls=True)
    rig.set_points.clear()
    rig.run(0.5)
    assert before > 0.0 and np.abs(np.diff(rig.set_points, axis=0)).max() < 1.1 * before + STEP


def test_the_cable_is_pulled_and_put_back():
    rig = moving()
    rig.bus.plugged = False
    rig.run(0.5)
    assert rig.outputs.state is State.OFFLINE and "cable" in rig.outputs.problem
    assert outcome(rig.answers) is Outcome.ABORTED and np.abs(rig.plant.v).max() < 0.01
    rig.bus.plugged = True
    rig.arm.connect(0.0)
    rig.due_s = rig.bus.now()
    rig.session.reset()
    rig.enable()
    require_small_steps(rig)


# -- power and faults --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joints", [None, [0]], ids=["all", "base"])
@pytest.mark.parametrize("gap_s", [0.02, 0.4])
def test_power_that_was_cut_is_said_and_no_goal_switches_torque_on_again(joints, gap_s):
    rig = moving()
    rig.bus.power(False, joints)
    rig.run(gap_s)
    rig.bus.power(True, joints)
    rig.bus.goals.clear()
    rig.run(1.0)
    assert outcome(rig.answers) is Outcome.ABORTED and rig.outputs.fault_latched
    assert "base (servo 1)" in rig.outputs.fault_latched and "power" in rig.outputs.fault_latched
    assert not rig.bus.servos[0].torque and not any(1 in goals for _, goals in rig.bus.goals)


def hot(rig):
    rig.bus.servos[1].celsius = 71.0


def sagged(rig):
    rig.plant.feed(0.72)


@pytest.mark.parametrize(
    ("cause", "said"),
    [(hot, "shoulder (servo 2): overheated, 6.0 V, 71 deg C"), (sagged, "base (servo 1): voltage, 4.2 V, 30 deg C")],
)
def test_heat_and_voltage_are_named_and_the_motion_ends(cause, said):
    rig = moving()
    cause(rig)
    rig.run(0.5)
    assert said in rig.outputs.fault_latched and outcome(rig.answers) is Outcome.ABORTED
    with pytest.raises(BoardFaultError, match="still there"):
        rig.session.reset()


def test_an_overload_is_named_and_reset_ends_it():
    rig = driven()
    servo = rig.bus.servos[1]
    servo.put("overload_torque", 5)
    rig.run(2.5)
    assert "shoulder (servo 2): overload" in rig.outputs.fault_latched and servo.most == 0.2
    servo.put("overload_torque", 80)
    rig.arm.disconnect()
    rig.arm.connect(0.0)  # as another program would find it
    rig.due_s = rig.bus.now()
    assert "shoulder (servo 2): overload" in rig.outputs.problem
    rig.session.reset()
    assert not rig.outputs.fault_latched and servo.most == 1.0
    rig.enable()
    require_small_steps(rig)


# -- what goes around --------------------------------------------------------------------------------------------------


def test_goals_reach_the_bus_through_the_sender_alone():
    sender = Path(goal_sender.__file__)
    users = {path.name for path in sender.parent.glob("*.py") if '"goal":' in path.read_text("utf-8")}
    assert users == {"goal_sender.py", "dialects.py"} and sender.read_text("utf-8").count("sync_write") == 1


@pytest.mark.parametrize("seed", range(20 if LONG else 1))
def test_whatever_happens_no_goal_leaps(seed):
    """Drawn faults of the line, of power and of the host, in motions that are asked for again and again."""
    rng = np.random.default_rng(seed)
    rig = driven()
    for _ in range(5):
        kind = rng.integers(6)
        if rig.outputs.state is State.ACTIVE:
            rig.move([HOME, AWAY, NEAR][rng.integers(3)])
            rig.run(float(rng.uniform(0.1, 0.8)))
        if kind == 0:
            rig.bus.harm = noise(drop=float(rng.choice([0.1, 0.6])), corrupt=0.1, seed=seed)
        elif kind == 1:
            rig.run(float(rng.choice([0.05, 0.3])), stalls=True)
        elif kind == 2:
            joints = [int(rng.integers(len(NAMES)))]
            rig.bus.power(False, joints)
            rig.run(float(rng.choice([0.01, 0.03, 0.2])))
            rig.bus.power(True, joints)
        elif kind == 3:
            rig.session.stop()
        elif kind == 4:
            rig.bus.plugged = False
            rig.run(0.05)
            rig.bus.plugged = True
        rig.run(float(rng.uniform(0.1, 0.5)))
        rig.bus.harm = lambda _servo, frame: frame
        if rig.outputs.state is not State.ACTIVE:
            rig.run(0.3)
            if rig.outputs.state is State.OFFLINE:
                rig.arm.connect(0.0)
                rig.due_s = rig.bus.now()
            rig.session.reset()
            rig.bus.goals.clear()  # a joint that fell is held where it is
            rig.run(0.5)
            rig.enable()
        require_small_steps(rig)
