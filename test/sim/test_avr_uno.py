"""The simulated Uno itself: what the data sheets of ATmega328P and PCA9685 say, seen from a program that runs on it."""

import pytest
from avr_bench import Monitor
from firmware_tools import require

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.errors import InputError
from picker_dynamics.sim.avr_firmware import Cause, Uno

require("avr", "sim")

TWSR, TWDR, TWCR = 0xB9, 0xBB, 0xBC
GO, START, STOP, ACK = 0x84, 0xA4, 0x94, 0xC4  # TWCR: TWINT and TWEN, with TWSTA, TWSTO, TWEA
ADDRESS = 0x80
MODE1, LED0, PRE_SCALE = 0x00, 0x06, 0xFE
EXTRF, BORF, WDRF, PORF = 2, 4, 8, 1


@pytest.fixture
def monitor(tmp_path):
    return Monitor(tmp_path)


@pytest.fixture
def uno(monitor):
    return monitor.uno


def act(monitor, control, data=None):
    """One action of the I2C master: its status, or None where it does not end."""
    if data is not None:
        monitor.write(TWDR, data)
    monitor.write(TWCR, control)
    return monitor.read(TWSR) & 0xF8 if monitor.read(TWCR) & 0x80 else None


def write_chip(monitor, register, *values, address=ADDRESS):
    """A write transaction with the chip; the statuses of its bytes."""
    said = [act(monitor, START), *(act(monitor, GO, byte) for byte in (address, register, *values))]
    monitor.write(TWCR, STOP)
    return said


def read_chip(monitor, register, count=1):
    act(monitor, START), act(monitor, GO, ADDRESS), act(monitor, GO, register)
    assert act(monitor, START) == 0x10
    assert act(monitor, GO, ADDRESS | 1) == 0x40
    values = []
    for left in reversed(range(count)):
        assert act(monitor, ACK if left else GO) == (0x50 if left else 0x58)
        values.append(monitor.read(TWDR))
    monitor.write(TWCR, STOP)
    return values


def awake(monitor):
    """The chip at 50 Hz, auto-increment, all-call off."""
    write_chip(monitor, PRE_SCALE, 121)
    write_chip(monitor, MODE1, 0x20)
    return monitor


def pulse_of_100(monitor):
    """The chip awake, output 0 at 100 counts."""
    write_chip(awake(monitor), LED0, 0, 0, 100, 0)


# --- USART ------------------------------------------------------------------------------------------------------------


def test_a_byte_takes_ten_bit_times_each_way(uno):
    begin = uno.cycle()
    uno.send(b"c")
    assert uno.line_free() - begin == 320
    uno.run(begin + 2000)
    [answer] = uno.fetch()
    assert 640 < answer.cycle - begin < 800  # in, a few instructions, out


def test_three_bytes_wait_and_the_fourth_is_lost(monitor, uno):
    monitor.ask(b"s\x02", 100)
    uno.send(b"ccccccc")
    assert len(monitor.run_us(4000)) == 3
    assert uno.statistics.overruns == 4
    assert monitor.ask(b"c") == bytes([PORF])  # and it hears again


@pytest.mark.parametrize("baud, understood", [(500_000, True), (490_000, True), (0, True), (470_000, False), (115_200, False)])
def test_another_speed_is_noise(monitor, uno, baud, understood):
    uno.line_speed(baud)
    said = monitor.ask(b"c" * 20, 4000)
    assert (said == bytes([PORF]) * 20) == understood
    assert (uno.statistics.noise == 0) == understood
    assert uno.board_speed() == 500_000


# --- I2C and PCA9685 --------------------------------------------------------------------------------------------------


def test_outputs_change_at_the_stop_only(monitor, uno):
    awake(monitor)
    assert uno.chip_count_us() == 4.88
    act(monitor, START)
    for byte in (ADDRESS, LED0, 0, 0, 0x33, 0x01):
        act(monitor, GO, byte)
    assert uno.chip_counts(0) == 0
    monitor.write(TWCR, STOP)
    assert uno.chip_counts(0) == 0x133
    assert read_chip(monitor, LED0, 4) == [0, 0, 0x33, 0x01]


def test_a_chip_without_wires_goes_on_and_without_supply_forgets(monitor, uno):
    pulse_of_100(monitor)
    uno.chip_connected(False)
    assert write_chip(monitor, LED0, 0, 0, 50, 0)[1] == 0x20
    assert uno.chip_counts(0) == 100
    uno.chip_connected(True)
    uno.chip_power(False)
    assert uno.chip_counts(0) == 0
    uno.chip_power(True)
    assert uno.chip_register(MODE1) == 0x11


# --- memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cause, flag", [(Cause.EXTERNAL, EXTRF), (Cause.BROWN_OUT, BORF), (Cause.WATCHDOG, WDRF)])
def test_what_survives_a_reset(monitor, uno, cause, flag):
    pulse_of_100(monitor)
    monitor.ask(b"e\x07\x00\x55", 5000)
    uno.poke(0x700, b"\x12")
    monitor.write(0x2A, 0x10)
    uno.reset(cause, 0, False)
    monitor.run_us(100)
    assert monitor.ask(b"c") == bytes([flag])
    assert uno.chip_counts(0) == 100
    assert uno.eeprom(7) == 0x55
    assert (uno.peek(0x700) == b"\x12") == (cause is not Cause.BROWN_OUT)
    assert monitor.read(0x2A) == 0


def test_what_is_no_program_is_refused(tmp_path):
    with pytest.raises(InputError, match="no ELF file"):
        Uno(toolchain.library("sim"), tmp_path / "nothing.elf")
    (tmp_path / "text.elf").write_text("hello")
    with pytest.raises(InputError, match="no ELF file"):
        Uno(toolchain.library("sim"), tmp_path / "text.elf")
