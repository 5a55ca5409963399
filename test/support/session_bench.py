"""A hardware session on a board in a thread of its own, ticked as the hardware node does, and the fixtures that make them."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from arm_fixtures import rigid_body, servos
from board_on_cable import BoardOnCable
from board_on_pty import NAMES, BoardOnPty
from waiting import until

from picker_dynamics.board import hardware_session
from picker_dynamics.board.firmware.config import FirmwareConfig, board_limits
from picker_dynamics.board.hardware_session import CommandCounts, HardwareSession, State
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import BoardState, Fault
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.errors import BoardFaultError

SERVOS = servos()
LIMITS = board_limits(SERVOS)
HOME = np.array(SERVOS.home)
LEAD_S = 0.06
PERIOD_S = 0.01
ADOPTED = "outputs were running: adopted"
UNHURRIED_MS = 10_000
"""Watch over the host, for tests about something else: a busy machine is no lost host."""


def units(q) -> tuple[int, ...]:
    return tuple(int(pulse * 8.0 + 0.5) for pulse in SERVOS.to_pulse_us(q).tolist())


def moved(**by) -> np.ndarray:
    target = HOME.copy()
    for joint, amount in by.items():
        target[NAMES.index(joint)] += amount
    return target


def make_board(*, found=HOME, host_timeout_ms=UNHURRIED_MS, joints=5, **firmware) -> BoardOnPty:
    """A board whose outputs run at ``found`` (n,) [rad]; None, or NaN for one joint: off."""
    if found is not None:
        pulses = [np.nan if np.isnan(angle) else servo.to_pulse_us(angle) for servo, angle in zip(SERVOS.servos, found)]
        firmware["found_us"] = [None if np.isnan(pulse) else round(8.0 * pulse) / 8.0 for pulse in pulses]
    return BoardOnPty(FirmwareConfig(LIMITS[:joints], host_timeout_ms=host_timeout_ms), boot_id=7, **firmware)


class Rig:
    """A session on a board, and a record of all telemetry that came: (board time [us], pulses, live)."""

    def __init__(self, board: BoardOnPty | BoardOnCable | None, port: str | None = None):
        self.board = board
        self.history: list[tuple[int, tuple[int, ...], int]] = []
        link = Link(port or board.port, joint_names=NAMES, on_telemetry=self._record)
        self.session = HardwareSession(link, SERVOS, ArmStateModel(rigid_body(), SERVOS.model, SERVOS.rest))

    def _record(self, telemetry, _arrived_s) -> None:
        self.history.append((telemetry.time_us, telemetry.pulses, telemetry.live))

    def connected(self) -> HardwareSession:
        self.session.connect()
        return self.session

    @property
    def firmware(self):
        return self.board.firmware

    def active(self) -> HardwareSession:
        """Outputs run already: adopted."""
        self.connected().activate(at_rest_pose=False)
        return self.session

    def in_motion(self) -> HardwareSession:
        """Active, and on the way to another pose."""
        session = self.active()
        self.stream_until(moved(base=0.6), self.moving, "motion")
        return session

    def enabling(self) -> HardwareSession:
        """Outputs are off: somebody vouches for the rest pose."""
        self.connected().activate(at_rest_pose=True)
        return self.session

    def adopted(self) -> None:
        """Outputs that run are taken over where they are."""
        assert self.session.activate(at_rest_pose=False) == ADOPTED

    def not_activated(self, why: str, *, at_rest_pose: bool) -> None:
        """To activate is refused for this reason."""
        with pytest.raises(BoardFaultError, match=why):
            self.session.activate(at_rest_pose=at_rest_pose)

    def comes_to(self, state: State) -> None:
        """Tick until the session says so."""
        self.tick_until(lambda: self.session.state is state, f"a session that is {state.value}")

    def stopped(self) -> None:
        """Tick until the board is, and says so."""
        self.tick_until(lambda: self.firmware.faults & Fault.STOPPED.bit, "the stop")

    def tick_for(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        self.tick_until(lambda: time.monotonic() > until_s, "time to pass")

    def tick_until(self, condition, what: str) -> None:
        """Tick as the node does, until ``condition()``."""

        def ticked():
            self.step()
            return condition()

        until(ticked, what)

    def step(self) -> None:
        self.session.tick(time.monotonic())

    def news(self, count: int = 3) -> None:
        """Tick until ``count`` more telemetry frames have come."""
        wanted = len(self.history) + count
        self.tick_until(lambda: len(self.history) >= wanted, "telemetry")

    def send(self, q, **options) -> bool:
        now = time.monotonic()
        return self.session.command(now + LEAD_S, np.asarray(q, dtype=float), now, **options)

    def stream(self, goal, steps: int = 60) -> int:
        """Follow a smooth way from the session's set-point to ``goal`` at 100 Hz; how many commands that were."""
        start, goal = self.session.setpoint.copy(), np.asarray(goal)
        for step in range(steps + 10):
            share = min(step / steps, 1.0)
            self.send(start + share * share * (3.0 - 2.0 * share) * (goal - start))
            self.step()
            time.sleep(PERIOD_S)
        return steps + 10

    def stream_until(self, goal, condition, what: str) -> None:
        """Start towards ``goal`` and go on until ``condition()``."""
        start, steps = self.session.setpoint.copy(), itertools.count()

        def stepped():
            self.send(start + min(next(steps) * PERIOD_S / 2.0, 1.0) * (np.asarray(goal) - start))
            self.step()
            time.sleep(PERIOD_S)
            return condition()

        until(stepped, what)

    def moving(self) -> bool:
        return self.session.link.telemetry.state is BoardState.MOVE and self.pulses() != self.history[0][1]

    def pulses(self) -> tuple[int, ...]:
        with self.board.lock:
            return self.firmware.pulses

    def require_no_step(self) -> None:
        """No set-point on the outputs ever moved faster than its servo can: per servo frame, of 20 ms."""
        for (before_us, before, live), (now_us, now, still_live) in zip(self.history, self.history[1:]):
            frames = 2 if now_us < before_us else (now_us - before_us) // 20_000 + 1
            for joint, limits in enumerate(LIMITS):
                if live & still_live & 1 << joint:
                    assert abs(now[joint] - before[joint]) <= limits.speed * frames, NAMES[joint]


def accounted(counts: CommandCounts) -> int:
    return sum(vars(counts).values())


@pytest.fixture
def rig():
    with make_board() as board:
        rig = Rig(board)
        yield rig
        rig.session.disconnect()


@pytest.fixture
def rigs():
    """Sessions on other boards, by the arguments of ``make_board``."""
    made = []

    def make(**options) -> Rig:
        made.append(Rig(make_board(**options)))
        return made[-1]

    yield make
    for rig in made:
        rig.session.disconnect()
        with rig.board:
            pass


@pytest.fixture
def quick_enabling(monkeypatch):
    monkeypatch.setattr(hardware_session, "ENABLE_PERIOD_S", 0.1)


@pytest.fixture
def unhurried(monkeypatch):
    """A session that no stall of this machine takes for a controller that pauses, or for a board that is gone."""
    session = "hardware_session"
    for name in (f"{session}.PAUSE_S", "rejoining.PAUSE_S", f"{session}.REQUEST_TIMEOUT_S", "link.connection.SILENCE_S"):
        monkeypatch.setattr(f"picker_dynamics.board.{name}", UNHURRIED_MS * 1e-3)
