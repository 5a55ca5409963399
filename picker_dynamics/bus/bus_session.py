"""Bus session: finds, enables, commands, measures and stops the servos of one arm, and names what is wrong; free of ROS.

    offline --connect--> idle --activate--> enabling (torque rises) --at rest--> active --stop, fault--> idle (holding)
       ^                                                                                                   |
       +------------------- a servo does not answer, the bus is gone: offline, reconnect ------------------+

A cycle is one sync read, in ``tick``, and one sync write: of a command, or in ``tick`` while goals brake or torque rises.
Servos have no watch over their host: what is gone leaves the last goal standing, at the torque limit.
Times are host seconds of the ``clock``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.board.clock import SYSTEM_CLOCK, Clock
from picker_dynamics.board.session import SEEN_S, Routine, State, WiredOutputs
from picker_dynamics.board.setpoint_guard import Refusal
from picker_dynamics.errors import BoardFaultError, LimitError, LinkError
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap

from .dialects import Dialect
from .feedback import ATTEMPTS, Feedback
from .goal_sender import GoalSender
from .transport import Transport

MISSING = 5
"""So many cycles in a row without an answer of a servo are a fault."""

RAMP_S, FIRST_TORQUE = 1.0, 0.1
"""In so long the torque limit rises [s], from so much of it."""

RELIEF_S = 0.02
"""After which a servo that was given another goal says whether it is overloaded still [s]."""

STANDS, STANDS_S, PATIENCE_S = 0.03, 0.2, 5.0
"""A joint that moves slower than this [rad/s or m/s], for so long, stands; for how long that is waited for [s]."""


class BusSession(WiredOutputs):
    """Session with the bus servos of one arm.

    Args:
        link: their bus, not opened yet.
        dialect: their registers.
        servos: joint <-> horn, and their figures.
        clock: host time, the bus's.

    Attributes:
        found: what was found at the last connecting.
        sender, measured: goals to the servos, and what they say.
    """

    link: Transport

    def __init__(self, link: Transport, dialect: Dialect, servos: ServoMap, clock: Clock = SYSTEM_CLOCK):
        super().__init__(servos, clock)
        self.link, self.dialect, self.found = link, dialect, ""
        self.setpoint: Array = np.array(servos.rest)
        self.ids = servos.bus_ids or tuple(channel + 1 for channel in servos.channels)
        self.sender = GoalSender(link, dialect, servos, self.ids)
        self.measured = Feedback(link, dialect, self.ids, servos, self.sender, clock)
        self._on, self._hold, self._first = np.zeros(servos.n, dtype=bool), np.array(servos.rest), np.zeros(servos.n)
        self._ramp_s = self._stands_s = 0.0
        self._commanded, self._restart = False, ""

    # -- connecting ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        self.link.open()
        self.found = self.measured.identify()
        self._measure()
        faults = self.measured.faults
        self.state, self.problem = State.IDLE, faults or Routine(self.found)
        if self.fault_latched:
            self.problem = f"the servos are back: {faults or self.found}; reset, then enable, to continue"

    # -- switching -----------------------------------------------------------------------------------------

    def activate(self, at_rest_pose: bool = False) -> str:
        """Hold the arm where it is, with torque that rises slowly, and take commands from then on; returns what is being done."""
        self._require_connection()
        self.require_not_stopped()
        if faults := self.measured.faults:
            raise BoardFaultError(f"{faults}: nothing is enabled")
        if self.state is not State.IDLE:
            return f"already {self.state.value}"
        now_s, found, off = self.clock.now(), self.measured, self.measured.names(~self.measured.powered)
        self._hold = np.where(found.powered, found.goals, found.q)
        self._first = np.where(found.powered, found.limit, FIRST_TORQUE * found.most)
        self.sender.live, self._on = np.ones(self.servos.n, dtype=bool), np.zeros(self.servos.n, dtype=bool)
        self.sender.hold(self._hold, self._first, now_s)
        self.state, self.problem, self._ramp_s, self._stands_s = State.ENABLING, "", now_s, now_s
        return f"enabling {off} where they are" if off else "outputs were running: adopted as soon as they stand"

    def relax(self) -> None:
        """Switch all torque off at once, to free a pinched hand: the arm falls."""
        self.stop_latched = self.relax_latched = True
        self._require_connection()
        self._leave(State.IDLE, "relaxed: outputs off; reset, then enable, to continue")
        self._switch_off()

    def release(self) -> None:
        """Take no commands any more and hold; torque stays on."""
        if self.engaged:
            self._leave(State.IDLE, Routine("released: holding"))

    def disable(self) -> None:
        """Switch all torque off: the arm falls.

        Raises:
            LinkError, BoardFaultError: not connected, or a servo did not confirm.
        """
        self._require_connection()
        self._leave(State.IDLE, "outputs off")
        for _ in range(ATTEMPTS):
            self._switch_off()
            self._measure()
            on = self.measured.powered | (self.measured.missing > 0)
            if not on.any():
                return
        raise BoardFaultError(f"{self.measured.names(on)}: not confirmed to be off")

    def reset(self) -> None:
        """Clear stop and faults whose cause is gone; what is overloaded is given a goal where it is, which ends that.

        Raises:
            LinkError, BoardFaultError: not connected, or a cause that is still there.
        """
        self._require_connection()
        found = self.measured
        if found.errors.any():
            self.sender.live = found.powered
            self.sender.hold(np.where(found.errors > 0, found.q, found.goals), found.most, self.clock.now())
            self.clock.sleep(RELIEF_S)
        self._measure()
        if faults := found.faults:
            raise BoardFaultError(f"{faults}: still there; relieve the arm, let it cool, or switch its power off and on")
        self._unlatch(Routine(self.found))

    def _switch_off(self) -> None:
        address, block = self.dialect.block({"torque": 0})
        self.sender.restart()
        self.link.sync_write(address, dict.fromkeys(self.ids, block))

    def _require_connection(self) -> None:
        if self.state is State.OFFLINE:
            raise LinkError("the servos are not connected")

    def _break_off(self, state: State, problem: str) -> None:
        """Leave because something went wrong; where the arm was commanded, nobody goes on before ``reset``."""
        if self.engaged:
            self.fault_latched = problem
        self._leave(state, f"{problem}; {'reset, then enable, to continue' if self.fault_latched else 'enable to continue'}")

    # -- commands ------------------------------------------------------------------------------------------

    def command(self, q_cmd: ArrayLike, now_s: float) -> bool:
        """Send the set-point ``q_cmd`` (n,) [rad or m], to hold now; returns whether it was sent.

        Raises:
            InputError: a set-point that is not finite, or out of range; nothing is sent.
            LinkError: the bus is gone.
        """
        if self.state is not State.ACTIVE or self._restart:
            self.sender.counts.not_active += 1
            return False
        refusal = self.sender.send(now_s, np.array(q_cmd, dtype=float), now_s)
        if refusal is Refusal.AWAY:
            self._restart = f"commands {self.sender.why}: restarting from where the arm is held ({self.sender.said})"
            self._stands_s = now_s
        else:
            self._commanded = True
        return refusal is None

    def halt(self, why: str, now_s: float) -> None:
        """Leave the goals where they are, at once, and take no commands until the arm stands; they begin anew where it does."""
        if self.state is State.ACTIVE and not self._restart:
            self.sender.hold(self.sender.goals, self.sender.torque, now_s)
            self._restart, self._stands_s = why, now_s

    # -- time ----------------------------------------------------------------------------------------------

    def tick(self, now_s: float) -> None:
        """Measure, look for faults, and do what is due."""
        if self.state is State.OFFLINE:
            return
        try:
            self._measure()
            self._notice_faults()
            self._act(now_s)
        except LinkError as error:
            self.link.close()
            self._break_off(State.OFFLINE, str(error))
        except LimitError as error:
            self._break_off(State.IDLE, str(error))
        self._commanded = False

    def _act(self, now_s: float) -> None:
        """Write what is due while no command does."""
        if self.relax_latched and self.measured.powered.any():
            self._switch_off()
        elif self.sender.moves and not self._commanded:
            self.sender.live = self.measured.powered  # a goal would switch on what is off
            self.sender.brake(now_s)
        elif self.state is State.ENABLING:
            self._enable(now_s)
        elif self.state is State.ACTIVE and self._restart and not self.sender.moves and self._stands(now_s):
            self._begin_epoch(self._restart)

    def _enable(self, now_s: float) -> None:
        """Let torque rise; once it has, and the arm stands, commands start there."""
        share = min((now_s - self._ramp_s) / RAMP_S, 1.0)
        self.sender.hold(self._hold, self._first + share * (self.measured.most - self._first), now_s)
        if share == 1.0 and self._stands(now_s) and self.measured.powered.all():
            self._begin_epoch("")
            self.state = State.ACTIVE
        elif now_s - self._ramp_s > RAMP_S + PATIENCE_S:
            self._leave(State.IDLE, f"the arm does not come to rest within {PATIENCE_S:g} s: holding")

    def _stands(self, now_s: float) -> bool:
        if (np.abs(self.measured.v) > STANDS).any() or self.measured.missing.any():
            self._stands_s = now_s
        return now_s - self._stands_s >= STANDS_S

    def _begin_epoch(self, remark: str) -> None:
        """From here on commands start where the arm is, at the goals that hold it."""
        model, q, self.setpoint = self.servos.model, self.measured.q, np.array(self.sender.goals)
        self.held_effort = model.spring_torque(self.setpoint, q, model.supply_at(self.setpoint, q, self.measured.supply.source))
        self.sender.restart()
        self._restart = ""
        self.begin_epoch(q.copy(), remark)

    def _measure(self) -> None:
        """Take a sample: where the arm is, and what it is held by."""
        self.measured.read()
        self.held, self.setpoint = self.measured.q, self.measured.goals

    def _notice_faults(self) -> None:
        found = self.measured
        if (silent := found.missing >= MISSING).any():
            text = f"{found.names(silent)}: no answer for {MISSING} cycles: power, cable?"
            raise LinkError(text, self.joint_names[int(silent.argmax())])
        if not self.engaged:
            return
        self._on |= found.powered
        if found.faults:
            self._break_off(State.IDLE, found.faults)
        elif (cut := self._on & ~found.powered).any():
            self._break_off(State.IDLE, f"{found.names(cut)}: torque is off: was its power cut?")

    @property
    def commanded(self) -> bool:
        return self.sender.last_s is not None

    @property
    def unseen_s(self) -> float:
        return max(self.clock.now() - self.measured.sample_s - SEEN_S, 0.0)

    @property
    def outputs(self) -> str:
        return self.measured.outputs
