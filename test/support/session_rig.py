"""A hardware session on a board in memory, on virtual time, ticked as the control loop does; its outputs are noted."""

import contextlib
import itertools

import numpy as np
import pytest
from arm_fixtures import servos
from stepped_board import STEP_S, NoPlant, SteppedBoard

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.hardware_session import HardwareSession, State
from picker_dynamics.errors import BoardFaultError

SERVOS = servos()
LIMITS, NAMES, ALL = board_limits(SERVOS), SERVOS.joint_names, 0b11111
HOME = np.array(SERVOS.home)
LEAD_S, PERIOD_S, PATIENCE_S = 0.06, 0.01, 5.0
ADOPTED = "outputs were running: adopted"


def units(q) -> tuple[int, ...]:
    """Pulses [1/8 us] that stand for set-points (n,) [rad]."""
    return tuple(int(pulse * 8.0 + 0.5) for pulse in SERVOS.to_pulse_us(q).tolist())


def moved(**by: float) -> np.ndarray:
    """Home, with joints moved by so much [rad]."""
    return HOME + np.array([by.get(name, 0.0) for name in NAMES])


class Rig:
    """A session, and the board that it is with; all times are the board's clock's.

    Args:
        found: (n,) set-points on outputs that run already [rad]; None: all are off.
    """

    def __init__(self, found=HOME):
        self.bench = SteppedBoard(SERVOS, None if found is None else np.asarray(found), NoPlant())
        self.session: HardwareSession = self.bench.session()

    @property
    def firmware(self):
        return self.bench.firmware

    @property
    def now(self) -> float:
        return self.bench.now_s

    @property
    def telemetry(self):
        return self.session.telemetry()

    def pulses(self) -> tuple[int, ...]:
        return self.firmware.pulses

    # -- time ----------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time pass, with a tick every 20 ms."""
        for _ in range(max(1, round(seconds / 0.02))):
            self.bench.run(0.02)
            self.session.tick(self.now)

    def until(self, condition, what: str = "what was waited for") -> None:
        """Tick until ``condition()``."""
        end_s = self.now + PATIENCE_S
        while not condition():
            assert self.now < end_s, f"{what} did not happen: {self.session.problem}"
            self.run(0.02)

    @contextlib.contextmanager
    def deaf(self):
        """What is said to the board meanwhile is lost."""
        self.bench.deaf = True
        yield
        self.bench.deaf = False

    # -- the session ---------------------------------------------------------------------------------------

    def connected(self) -> HardwareSession:
        self.session.connect(give_up_s=PATIENCE_S)
        return self.session

    def active(self) -> HardwareSession:
        """Outputs run already: adopted."""
        self.connected()
        self.adopted()
        return self.session

    def adopted(self) -> None:
        """Outputs that run are taken over where they are."""
        assert self.session.activate(at_rest_pose=False) == ADOPTED and self.session.state is State.ACTIVE

    def enabling(self) -> HardwareSession:
        """Outputs are off: somebody vouches for the rest pose."""
        self.connected().activate(at_rest_pose=True)
        return self.session

    def in_motion(self) -> HardwareSession:
        """Active, and on the way to another pose."""
        session, goal, steps = self.active(), moved(base=0.6), itertools.count()
        start = session.setpoint.copy()
        while not (self.telemetry.state.moves and self.pulses() != units(HOME)):
            self.send(start + min(next(steps) * PERIOD_S / 2.0, 1.0) * (goal - start))
            self.step()
        return session

    def refused(self, why: str, *, at_rest_pose: bool) -> None:
        """To activate is refused for this reason."""
        with pytest.raises(BoardFaultError, match=why):
            self.session.activate(at_rest_pose=at_rest_pose)

    # -- commands ------------------------------------------------------------------------------------------

    def send(self, q) -> bool:
        return self.session.command(self.now + LEAD_S, np.asarray(q, dtype=float), self.now)

    def step(self) -> None:
        """Ten milliseconds, and a tick."""
        for _ in range(round(PERIOD_S / STEP_S)):
            self.bench.run(STEP_S)
        self.session.tick(self.now)

    def stream(self, goal, steps: int = 60) -> int:
        """Follow a smooth way from the session's set-point to ``goal`` at 100 Hz; how many commands that were."""
        start, goal = self.session.setpoint.copy(), np.asarray(goal)
        for step in range(steps + 10):
            share = min(step / steps, 1.0)
            self.send(start + share * share * (3.0 - 2.0 * share) * (goal - start))
            self.step()
        return steps + 10

    def require_no_step(self) -> None:
        """No set-point on the outputs ever moved faster than its servo can."""
        for before, after in zip(self.bench.frames, self.bench.frames[1:]):
            for joint, limits in enumerate(LIMITS):
                if before.live & after.live & 1 << joint:
                    assert abs(after.pulses[joint] - before.pulses[joint]) <= limits.speed, NAMES[joint]
