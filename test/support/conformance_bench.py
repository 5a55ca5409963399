"""A board of the picker's, and a session with it in simulated time."""

from dataclasses import replace

import conformance_exact
import conformance_owner
from arm_fixtures import servos

from picker_dynamics.board.conformance import CHECKS as FROM_OUTSIDE
from picker_dynamics.board.conformance import Host, LockStepWire, Need, Session, Status, meet, run
from picker_dynamics.board.protocol import pulse_units
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.virtual_board import firmware_config


def units(servo_map, q) -> tuple[int, ...]:
    """The pulses [1/8 us] that stand for ``q`` (n,) [rad]."""
    return tuple(pulse_units(pulse) for pulse in servo_map.to_pulse_us(q).tolist())


SERVOS = servos(simulated=False)
CONFIG = replace(firmware_config(SERVOS), supply_min_mv=4500)
START = units(SERVOS, SERVOS.rest)
START_US = tuple(pulse / 8 for pulse in START)
SUPPLY_MV = 6000
CHECKS = (*FROM_OUTSIDE, *conformance_exact.check.all, *conformance_owner.check.all)
WIRE = [one for one in FROM_OUTSIDE if one.need is Need.WIRE]


def ended(outcomes, status: Status) -> dict[str, str]:
    """Name -> detail of the checks that ended so."""
    return {one.check.name: one.detail for one in outcomes if one.status is status}


def failures(outcomes) -> dict[str, str]:
    """Name -> detail of the checks that failed."""
    return ended(outcomes, Status.FAILED)


def passed(session, checks=CHECKS, **options) -> list:
    """The outcomes of a run in which no check fails, and after which the session ends."""
    outcomes = run(session, checks, **options)
    session.leave()
    assert failures(outcomes) == {}, failures(outcomes)
    return outcomes


def virtual(kind=VirtualFirmware, config=CONFIG, **firmware) -> VirtualFirmware:
    """A virtual board with its supply on."""
    owner = kind(config, **firmware)
    owner.set_supply(SUPPLY_MV)
    return owner


def session_with(owner, *, allowed=Need.BARE, limits=CONFIG.joints, start=START, baud=500_000) -> Session:
    """Shake hands with an owned board."""
    return meet(Host(LockStepWire(owner, baud=baud)), limits=limits, start=start, allowed=allowed)
