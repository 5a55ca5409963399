"""Servos before they are an arm: found, set up and examined on a simulated bus; what was written is looked at in the servos."""

from __future__ import annotations

import json
from functools import partial

import pytest

from picker_dynamics.bus.dialects import SCS
from picker_dynamics.bus.transport import FeetechBus
from picker_dynamics.commands import cli, servos
from picker_dynamics.errors import BoardFaultError, ConfigurationError, InputError, LinkError
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.sim.bus_in_memory import SERVO_S, BusInMemory
from picker_dynamics.sim.plant import Plant

ARM, SERVOS = servo_arm.load(resource("urdf/so101.urdf"), "", "ideal")


@pytest.fixture
def bus(monkeypatch):
    made = BusInMemory(Plant(ARM, SERVOS, support=True, quantise=False, dt=SERVO_S), SERVOS)
    monkeypatch.setattr(servos, "FeetechBus", partial(FeetechBus, clock=made, open_port=made.open))
    return made


@pytest.fixture
def run(capsys, bus):
    """Exit code, lines and complaint of ``picker servos``."""

    def run(*words: str) -> tuple[int, list[str], str]:
        code = cli.main(["servos", *words, "--port", "memory"])
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    return run


def alone(bus, servo: int, **registers: int):
    """That servo is the only one on the bus."""
    one = bus.servos[servo - 1]
    bus.power(False, [joint for joint in range(6) if joint != servo - 1])
    for name, value in registers.items():
        one.put(name, value)
    return one


def test_all_that_answer_are_listed_at_their_speed_and_nothing_moves(bus, run):
    code, (speed, *lines), _ = run("scan")
    assert code == 0 and speed == "1000000 bit/s" and len(lines) == 6
    assert lines[0] == "  1  STS3215, firmware 3.10, 7.4 V, 30 deg C, at 2048, torque off"
    for servo in bus.servos:
        servo.put("baud", 4)
    assert run("scan")[1][0] == "115200 bit/s"
    bus.power(False)
    code, _, complaint = run("scan")
    assert code == LinkError.exit_code and "no servo answers on memory at 1000000, 500000" in complaint
    assert not any(servo.torque for servo in bus.servos)


def test_a_servo_whose_first_reply_is_lost_is_listed(bus, run):
    lost = iter([True])
    bus.harm = lambda servo, frame: b"" if servo == 3 and next(lost, False) else frame
    assert [line.split()[0] for line in run("scan")[1][1:]] == ["1", "2", "3", "4", "5", "6"]


def test_the_one_that_is_connected_is_set_up_by_its_joint_and_keeps_it_without_power(bus, run):
    one = alone(bus, 5, id=1, p_gain=32)
    code, said, _ = run("set-id", "wrist_roll", "--arm", "so101")
    assert (code, said) == (0, ["servo 1 has id 5, p_gain 16 now"])
    bus.power(False, [4])
    bus.power(True, [4])
    assert (one.id, one.get("p_gain"), one.get("lock"), one.torque) == (5, 16, 1, False)
    assert run("set-id", "wrist_roll", "--arm", "so101")[0] == 0, "again: nothing new"
    assert run("set-id", "77")[1] == ["servo 5 has id 77 now"] and one.id == 77


@pytest.mark.parametrize(
    ("words", "before", "kind", "text"),
    [
        (("set-id", "3"), lambda bus: None, InputError, "servos 1, 2, 3, 4, 5, 6 answer: connect only the servo that gets id 3"),
        (("set-id", "300"), lambda bus: None, InputError, "the id is 300, must be 1 to 253"),
        (
            ("set-id", "nose", "--arm", "so101"),
            lambda bus: None,
            ConfigurationError,
            "there is no joint nose; there are shoulder_pan",
        ),
        (("set-id", "base"), lambda bus: None, ConfigurationError, "the servo map has no ids"),
        (("set-id", "3"), lambda bus: alone(bus, 1, torque=1), BoardFaultError, "servo 1 has torque: switch it off"),
    ],
)
def test_what_cannot_be_set_up_is_refused_and_nothing_is_written(bus, run, words, before, kind, text):
    before(bus)
    ids = [servo.id for servo in bus.servos]
    code, _, complaint = run(*words)
    assert code == kind.exit_code and text in complaint and [servo.id for servo in bus.servos] == ids


def test_health_names_joint_value_and_map_and_what_is_missing(bus, run, tmp_path):
    report = tmp_path / "health.json"
    code, lines, _ = run("health", "--arm", "so101", "--report", str(report))
    assert code == 0 and len(lines) == 12 and "0% lost" in lines[1]
    assert json.loads(report.read_text())["servos"][5]["registers"]["p_gain"] == 16
    bus.servos[1].put("p_gain", 32)
    bus.servos[2].celsius = 75.0
    bus.run(0.01)
    bus.servos[5].power(False)
    code, lines, _ = run("health", "--arm", "so101")
    assert code == servos.UNHEALTHY and lines[-1] == "gripper: servo 6 does not answer"
    assert "    ! the servo map says otherwise: p_gain 32, not 16" in lines
    assert any(line.startswith("elbow_flex: 3") and line.endswith("torque off: overheated") for line in lines)


def test_what_servos_keep_is_unlocked_until_power_is_cut(bus, run):
    code, said, _ = run("unlock")
    assert (code, said) == (0, ["unlocked until their power is cut: 1, 2, 3, 4, 5, 6"])
    assert not any(servo.get("lock") for servo in bus.servos)


def test_the_dialect_is_chosen(bus, run):
    assert SCS.name == "scs" and run("scan", "--bus", "scs")[0] == 0
