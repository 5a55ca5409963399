"""A simulated bus servo, asked with the bytes of the maker's manual: what its tables say, and what its users report.

Frames are typed by hand by the rules of "Servo SCS Communication Protocol", sections 2 to 4; addresses from the STS memory table.
"""

import math

import pytest
from numpy.testing import assert_allclose

from picker_dynamics.bus import frames
from picker_dynamics.bus.dialects import SCS, STS
from picker_dynamics.sim.bus_servo import SimulatedServo

GOAL_2048 = "FF FF 01 09 03 2A 00 08 00 00 E8 03 D5"
"""Example 4: to 2048 at 1000 steps per second."""
DONE = "FF FF 01 02 00 FC"
POSITION = "FF FF 01 04 02 38 02 BE"
READ_TORQUE, TORQUE_ON, TORQUE_OFF = "FF FF 01 04 02 28 01 CF", "FF FF 01 03 00 01 FA", "FF FF 01 03 00 00 FB"


def servo(dialect=STS, **put) -> SimulatedServo:
    made = SimulatedServo(1, 7.4, dialect)
    made.power(True)
    for name, value in put.items():
        made.put(name, value)
    return made


def ask(made: SimulatedServo, text: str) -> str | None:
    ((request,), damaged) = frames.take(bytearray.fromhex(text))
    assert not damaged
    reply = made.answer(request)
    return None if reply is None else reply.hex(" ").upper()


def live(made: SimulatedServo, seconds: float) -> None:
    for _ in range(round(seconds / 1e-3)):
        made.advance(1e-3)


def test_ping_and_read_are_answered_as_in_the_manual():
    made = servo()
    assert ask(made, "FF FF 01 02 01 FB") == DONE
    made.ticks = 1304
    assert ask(made, POSITION) == "FF FF 01 04 00 18 05 DD"
    assert ask(made, "FF FF 02 02 01 FA") is None, "another one's"
    assert ask(made, "FF FF FE 06 82 38 02 02 01 3C") == "FF FF 01 04 00 18 05 DD"


def test_the_model_is_777():
    assert ask(servo(), "FF FF 01 04 02 03 02 F3") == "FF FF 01 04 00 09 03 EE"


def test_a_goal_switches_torque_on():
    made = servo()
    assert ask(made, READ_TORQUE) == TORQUE_OFF
    assert ask(made, GOAL_2048) == DONE
    assert ask(made, READ_TORQUE) == TORQUE_ON and made.torque


def test_a_goal_beyond_the_limits_is_clamped_and_its_register_keeps_what_was_written():
    made = servo(position_min=1000, position_max=2000)
    made.ticks = 1500.0
    ask(made, GOAL_2048)
    live(made, 2.0)
    assert made.aim == 2000.0
    assert ask(made, "FF FF 01 04 02 2A 02 CC") == "FF FF 01 04 00 00 08 F2"


def test_what_is_written_while_the_lock_is_on_is_lost_with_the_power():
    made = servo()
    ask(made, "FF FF 01 04 03 15 10 D2")  # P 16
    assert made.get("p_gain") == 16
    made.power(False)
    made.power(True)
    assert made.get("p_gain") == 32
    ask(made, "FF FF 01 04 03 37 00 C0")  # lock off
    ask(made, "FF FF 01 04 03 15 10 D2")
    made.power(False)
    made.power(True)
    assert made.get("p_gain") == 16 and made.get("lock") == 1


def test_power_forgets_torque_goal_and_turns():
    made = servo(phase=0b11100)
    made.ticks = 5000.0
    assert ask(made, GOAL_2048) == DONE and ask(made, POSITION) == "FF FF 01 04 00 88 13 5F"
    made.power(False)
    assert ask(made, READ_TORQUE) is None
    made.power(True)
    made.put("phase", 0b11100)
    assert (made.get("torque"), made.get("goal")) == (0, 0)
    assert ask(made, POSITION) == "FF FF 01 04 00 88 03 6F", "5000 - 4096"


def test_a_position_below_0_has_its_sign_in_bit_15_or_wraps_without_turns():
    made = servo(phase=0b11100)
    made.ticks = -100.0
    made.power(False)
    made.ticks = 0.0
    made.power(True)
    made.put("phase", 0b11100)
    made.ticks = -100.0
    assert ask(made, POSITION) == "FF FF 01 04 00 64 80 16"
    made.put("phase", 0b01100)
    assert ask(made, POSITION) == "FF FF 01 04 00 9C 0F 4F", "3996"


def test_overload_leaves_a_fifth_of_the_torque_and_says_so_until_a_new_goal():
    made = servo()
    ask(made, GOAL_2048)
    made.load = 0.9
    live(made, 1.9)
    assert made.most == 1.0 and ask(made, "FF FF 01 02 01 FB") == DONE
    live(made, 0.2)
    assert made.most == 0.2 and ask(made, "FF FF 01 02 01 FB") == "FF FF 01 02 20 DC"
    made.load = 0.2
    live(made, 10.0)
    assert made.most == 0.2 and ask(made, READ_TORQUE) == "FF FF 01 03 20 01 DA", "in every reply, and by itself it does not end"
    ask(made, GOAL_2048)
    made.advance(1e-3)
    assert made.most == 1.0 and ask(made, "FF FF 01 02 01 FB") == DONE


@pytest.mark.parametrize(("what", "value", "status", "on"), [("celsius", 71.0, 0x04, 0), ("volts", 5.0, 0x01, 1)])
def test_heat_and_voltage_are_in_the_status_and_unload_what_the_mask_says(what, value, status, on):
    made = servo()
    ask(made, GOAL_2048)
    setattr(made, what, value)
    made.advance(1e-3)
    assert (made.get("present_status"), made.get("torque")) == (status, on)


def test_its_own_ramp_is_as_fast_as_it_was_asked_for():
    made = servo()
    made.ticks = 1048.0
    ask(made, GOAL_2048)
    live(made, 0.5)
    assert_allclose(made.aim, 1548.0, atol=1.5)
    live(made, 0.6)
    assert made.aim == 2048.0
    slow = servo(acceleration=10)  # 1000 steps/s^2: 1 s to 1000 steps/s, half of the way
    slow.ticks = 1048.0
    ask(slow, GOAL_2048)
    live(slow, 0.5)
    assert_allclose(slow.aim, 1048.0 + 125.0, atol=2.0)


@pytest.mark.parametrize(("phase", "aim"), [(0b0100, 1048.0), (0b1100, 2048.0)])
def test_speed_0_stands_or_is_the_fastest_as_phase_says(phase, aim):
    made = servo(phase=phase)
    made.ticks = 1048.0
    ask(made, "FF FF 01 05 03 2A 00 08 C4")
    live(made, 0.1)
    assert made.aim == aim


def test_torque_limit_is_the_kept_one_at_power_on_and_what_is_written_then():
    made = servo()
    assert made.most == 1.0
    ask(made, "FF FF 01 05 03 30 F4 01 D1")  # 500
    assert math.isclose(made.most, 0.5)


def test_scs_servos_send_the_high_byte_first_and_know_no_sync_read():
    made = servo(SCS)
    made.ticks = 513.0
    assert ask(made, POSITION) == "FF FF 01 04 00 02 01 F7"
    assert ask(made, "FF FF FE 06 82 38 02 02 01 3C") is None
