"""A board of the picker's, and a session with it in simulated time."""

from dataclasses import replace

from arm_fixtures import servos

from picker_dynamics.board.protocol import pulse_units
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.simulated_board import firmware_config

from . import CHECKS, Host, Session, Status, meet, run


def units(servo_map, q) -> tuple[int, ...]:
    """The pulses [1/8 us] that stand for ``q`` (n,) [rad]."""
    return tuple(pulse_units(pulse) for pulse in servo_map.to_pulse_us(q).tolist())


SERVOS = servos(simulated=False)
CONFIG = replace(firmware_config(SERVOS), supply_min_mv=4500)
START = units(SERVOS, SERVOS.rest)
START_US = tuple(pulse / 8 for pulse in START)
SUPPLY_MV = 6000
FROM_OUTSIDE = [one for one in CHECKS if not one.inside]


def ended(outcomes, status: Status) -> dict[str, str]:
    """Name -> detail of the checks that ended so."""
    return {one.check.name: one.detail for one in outcomes if one.status is status}


def passed(session, checks=CHECKS, **options) -> list:
    """The outcomes of a run in which no check fails, and after which the session ends."""
    outcomes = run(session, checks, **options)
    session.leave()
    assert ended(outcomes, Status.FAILED) == {}
    return outcomes


def virtual(kind=VirtualFirmware, config=CONFIG, **firmware) -> VirtualFirmware:
    """A virtual board with its supply on."""
    board = kind(config, **firmware)
    board.set_supply(SUPPLY_MV)
    return board


def session_with(board, *, limits=CONFIG.joints, start=START, baud=500_000) -> Session:
    """Shake hands with a board."""
    return meet(Host(board, baud=baud), limits=limits, start=start)
