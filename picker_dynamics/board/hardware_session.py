"""Hardware session: enables, adopts, streams to and stops a servo board, and says what is wrong when it breaks; free of ROS.

    offline --connect--> idle --activate--> enabling --> active --stop, fault, reset of the board--> idle (with a problem)
                          ^                    (outputs that run already are adopted: active at once)       |
                          +-------------------------------- link lost: offline, reconnect ------------------+

All methods return at once, except ``connect`` (call it from a thread of its own) and the short requests of ``activate``,
``reset`` and ``disable``.  ``tick`` advances everything that takes time.  Times are host seconds of the ``clock``.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.control.supply_follow import SupplyFollower
from picker_dynamics.errors import BoardFaultError, LinkError, PickerError
from picker_dynamics.robot.model import Array, DynamicsModel, read_only
from picker_dynamics.robot.servo_budget import ServoBudget
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told

from .clock import SYSTEM_CLOCK, Clock
from .firmware.config import board_difference
from .link import Link
from .protocol import (
    Ack,
    Adopt,
    Disable,
    Enable,
    Fault,
    Reason,
    Relax,
    Reset,
    Stop,
    Telemetry,
    ahead_us,
    describe_faults,
    pulse_units,
)
from .rejoining import Rejoining
from .session import SEEN_S, Routine, State, WiredOutputs
from .setpoint_guard import Refusal
from .setpoint_sender import PATIENCE_S, CommandCounts, SetpointSender

REQUEST_TIMEOUT_S = 0.5
"""For the board's answer: five attempts."""

ENABLE_PERIOD_S, SIMULATED_ENABLE_PERIOD_S = 0.3, 0.1
"""Between two joints, at the first enabling: the supply would not bear all at once."""

LONGEST_STEP_S = 0.2
"""Of the modelled state: after a pause it goes on from where it was."""

Enabling = Generator[None, tuple[Telemetry, float], None]


def enabling(link: Link, servos: ServoMap, period_s: float, at_rest_pose: bool) -> Enabling:
    """Switch on, at the rest pose, those joints whose outputs are off: one at a time, without ever waiting for the board.

    Takes the newest telemetry and the time [s] again and again, and returns when all outputs run.

    Args:
        link, servos: the board and what hangs on it.
        period_s: between two joints [s].
        at_rest_pose: the arm stands there; else outputs that went off meanwhile stay off.

    Raises:
        PickerError: a joint could not be switched on; its ``subject`` says which.
    """
    rest = [pulse_units(pulse) for pulse in servos.to_pulse_us(servos.rest)]
    telemetry, now_s = yield
    for joint, name in enumerate(servos.joint_names):
        while telemetry.state.moves:
            telemetry, now_s = yield
        if telemetry.live >> joint & 1:
            continue
        if not at_rest_pose:
            raise PickerError(f"{name} is off: put the arm at its rest pose, and confirm that", name)
        pulses = tuple(pulse if k == joint else 0 for k, pulse in enumerate(rest))
        answer = link.request_async(Enable(1 << joint, pulses), PATIENCE_S)
        while not answer.done():
            telemetry, now_s = yield
        error = answer.exception()
        if error is not None and getattr(error, "reason", None) is not Reason.ALREADY_LIVE:  # done, but the answer got lost
            raise PickerError(f"{name} could not be enabled: {error}", name) from error
        due_s = now_s + period_s
        while now_s < due_s:
            telemetry, now_s = yield
    until_s = now_s + PATIENCE_S  # telemetry may be older than the last answer
    while off := [name for joint, name in enumerate(servos.joint_names) if not telemetry.live >> joint & 1]:
        if now_s > until_s:
            raise PickerError(f"{off[0]} was switched on and its output does not run", off[0])
        telemetry, now_s = yield


class HardwareSession(WiredOutputs):
    """Session with one board and the arm on it.

    Args:
        link: the serial link, not opened yet.
        servos: joint <-> pulse.
        state_model: the modelled joint state.
        budget: estimates of current and temperature, fed from it.
        clock: host time, the link's.

    Attributes:
        other_board: what the board was flashed for where that is not ``servos``; '' where it is.
    """

    link: Link
    _enabling: Enabling

    def __init__(
        self,
        link: Link,
        servos: ServoMap,
        state_model: ArmStateModel,
        budget: ServoBudget | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ):
        super().__init__(servos, clock)
        self.link, self.model = link, state_model
        self.budget = budget or ServoBudget(servos)
        self.supply = SupplyFollower(servos)
        self.other_board, self._accepted, self._firmware = "", "", ""
        self._mask = (1 << servos.n) - 1
        self._boot_id: int | None = None
        self._sender = SetpointSender(link, servos)
        self.counts: CommandCounts = self._sender.counts
        self._rejoining, self._moved = Rejoining(), False
        self._last_step_s = clock.now()
        self._played: tuple[tuple[int, ...], Array] = (), servos.rest

    @property
    def delay_s(self) -> float:
        """Delay with which the board plays commands, because of a stall [s]."""
        telemetry = self.link.telemetry
        return 0.0 if telemetry is None else 1e-3 * telemetry.behind_ms

    def _open(self) -> None:
        info = self.link.open()
        if info.joints != self.servos.n:
            why = f"the board was flashed for {board_difference(info, self.servos)}"
            raise BoardFaultError(why, value=info.joints, limit=self.servos.n)
        self._sender.halt = None
        self._rejoining.silence_s = 1e-3 * info.host_timeout_ms  # what the board allows its host is what it is allowed
        telemetry = self.telemetry()
        self.other_board = board_difference(info, self.servos)
        before, self._boot_id = self._boot_id, telemetry.boot_id
        firmware, self._firmware = self._firmware, info.firmware_version
        faults = telemetry.faults & ~Fault.HOST_LOST.bit
        self.state, self.problem = State.IDLE, describe_faults(faults) or self.board_problem
        if before is not None and not self.problem:
            reset = "" if before == self._boot_id else f", reset meanwhile (boot id {before} -> {self._boot_id})"
            reset += "" if firmware == self._firmware else f", its firmware is {self._firmware}, was {firmware}"
            self.problem = f"the board is back{reset}: {self._to_go_on}"

    def telemetry(self) -> Telemetry:
        """The newest telemetry.

        Raises:
            LinkError: not connected.
        """
        telemetry = self.link.telemetry
        if not self.link.connected or telemetry is None:
            raise LinkError("the board is not connected")
        return telemetry

    @property
    def board_problem(self) -> str:
        if self.other_board in ("", self._accepted):
            return ""
        return f"the board was flashed for {self.other_board}: flash it for this arm, or picker enable --accept-board"

    def accept_board(self) -> str:
        if self.state is State.OFFLINE:
            raise LinkError("the board is not connected")
        if self.problem == self.board_problem:
            self.problem = ""
        self._accepted = self.other_board
        return f"accepted: the board was flashed for {self.other_board or 'this servo map'}"

    # -- switching on and off ------------------------------------------------------------------------------

    def activate(self, at_rest_pose: bool) -> str:
        """Adopt outputs that run, or switch them on one joint at a time; returns what is being done.

        Args:
            at_rest_pose: a person has put the arm at its rest pose and says so.  Needed where outputs are off: a servo
                without feedback jumps from wherever it is to where the first pulse sends it.

        Raises:
            PickerError: stop or a fault latched, no connection, or outputs off and the pose not confirmed.
        """
        telemetry = self.telemetry()
        if self.state is State.OFFLINE:
            raise LinkError("the board is just being connected: enable again")  # whoever connects it says what it is then
        self.require_not_stopped()
        if self.board_problem:
            raise BoardFaultError(self.board_problem)
        faults = telemetry.faults & ~Fault.HOST_LOST.bit
        if faults:
            raise BoardFaultError(describe_faults(faults))
        if telemetry.faults:
            self._clear_faults()
        if strange := telemetry.live & ~telemetry.owned:
            self.link.request(Adopt(strange), REQUEST_TIMEOUT_S)
        if telemetry.live == self._mask and not telemetry.state.moves and self._sender.halt is None:
            self._become_active(telemetry)
            return "outputs were running: adopted"
        if telemetry.live != self._mask and not at_rest_pose:
            rest = ", ".join(f"{one.joint} {told(one.rest, one.position_unit)}" for one in self.servos.servos)
            raise BoardFaultError(f"outputs are off and the arm's pose is unknown: put it at its rest pose ({rest}), then enable")
        self.state, self.problem = State.ENABLING, ""
        period_s = SIMULATED_ENABLE_PERIOD_S if self.port_comes else ENABLE_PERIOD_S
        self._enabling = enabling(self.link, self.servos, period_s, at_rest_pose)
        next(self._enabling)
        off = self._off(telemetry)
        return f"enabling {off}, one every {period_s} s" if off else "outputs were running: adopted as soon as they stand"

    def _off(self, telemetry: Telemetry) -> str:
        """Names of the joints whose outputs are off."""
        return ", ".join(name for name, pulse in zip(self.joint_names, telemetry.pulses_us) if pulse is None)

    def release(self) -> None:
        """Stop streaming and hold; the outputs stay on."""
        if self.engaged:
            self._leave(State.IDLE, Routine("released: holding"))
            if self.link.connected:
                self._sender.halted()

    def disable(self) -> None:
        """Switch all outputs off: the arm falls.

        Raises:
            PickerError: the board did not confirm.
        """
        self.telemetry()
        self._leave(State.IDLE, "outputs off")
        self.link.request(Disable(self._mask), REQUEST_TIMEOUT_S)

    def stop(self) -> None:
        """Latch the stop and tell the board at once; it decelerates and holds."""
        super().stop()
        if self.link.connected:
            self.link.request_async(Stop())

    def relax(self) -> None:
        """Cut all pulses at once, to free a pinched hand: the arm falls."""
        self.stop_latched = True
        self.telemetry()
        self.relax_latched = True
        self.link.request_async(Relax())
        self._leave(State.IDLE, "relaxed: outputs off; reset, then enable at the rest pose, to continue")

    def reset(self) -> None:
        """Clear stop and faults whose cause is gone; moves and resumes nothing.

        Raises:
            PickerError: not connected, or a cause that is still there.
        """
        self.telemetry()
        self._clear_faults()
        self._unlatch(self.board_problem)

    def _clear_faults(self) -> None:
        """Reset the board, and wait for the telemetry that says so: what comes next looks at it."""
        done = cast(Ack, self.link.request(Reset(), REQUEST_TIMEOUT_S))
        until_s = self.clock.now() + REQUEST_TIMEOUT_S
        while ahead_us(self.telemetry().time_us, done.time_us) < 0 or self.telemetry().faults:
            if self.clock.now() > until_s:
                raise BoardFaultError(describe_faults(self.telemetry().faults) or "the board sends no telemetry")
            self.clock.sleep(0.002)

    def rejoin(self) -> None:
        """Let commands start anew from where the outputs are now; they have to stand.  Raises a LinkError where not connected."""
        self._begin_epoch(self.telemetry(), "")

    def set_model(self, model: DynamicsModel) -> None:
        """Model the arm with another payload; where nobody has commanded yet, commands start anew from where it rests with it.

        Raises:
            InfeasibleError: there is no such place; the session is idle then.  LinkError: not connected.
        """
        self.model.model = model
        if self.state is State.ACTIVE and not self.commanded and not self.telemetry().state.moves:
            self.rejoin()

    # -- streaming -----------------------------------------------------------------------------------------

    def command(self, time_s: float, q_cmd: ArrayLike, now_s: float) -> bool:
        """Send the set-point ``q_cmd`` (n,) [rad], to hold at ``time_s``; returns whether it was sent.

        Raises:
            InputError: a set-point that is not finite, or outside the pulse range; nothing is sent.
            LinkError: the cable was pulled.
            InfeasibleError: it was refused, and the arm does not rest where everyone would restart.
        """
        if self.state is not State.ACTIVE:
            self.counts.not_active += 1
            return False
        if self._sender.halt is not None:
            self.counts.unconfirmed += 1
            return False
        try:
            refusal = self._sender.send(time_s, np.array(q_cmd, dtype=float), now_s)
        except LinkError:
            self.counts.failed += 1
            raise
        except Exception:
            self.counts.invalid += 1
            raise
        if refusal is None or refusal is Refusal.THINNED:
            self._rejoining.followed()
        elif refusal is Refusal.AWAY:  # and counted: whatever fails from here on is not the command
            self._rejoining.refused(self._sender.why, now_s)
            self._start_anew_if_due(self.telemetry(), now_s)
        return refusal is None

    def _start_anew_if_due(self, telemetry: Telemetry, now_s: float) -> None:
        """Where commands were refused or missing for a while, and the arm stands: all restart from where it is held."""
        if self.state is not State.ACTIVE or not self.confirmed:
            return
        if self.commanded and self._rejoining.old:
            self.problem = ""
        why = self._rejoining.due(self.commanded, self._moved, self._sender.said, now_s)
        if why and not telemetry.state.moves and self._sender.halted():
            self._begin_epoch(telemetry, why)

    # -- time ----------------------------------------------------------------------------------------------

    def tick(self, now_s: float) -> None:
        """Look at the newest telemetry, all of it at the same one, and do what is due."""
        self.link.poll()
        dt, self._last_step_s = now_s - self._last_step_s, now_s
        if self.state is State.OFFLINE:
            self.budget.advance(dt)  # it holds, and goes on warming up
            return
        if not self.link.connected:
            self._break_off(State.OFFLINE, f"{self.link.lost or 'the link is lost'}; the board holds")
            return
        telemetry = self.telemetry()
        self._rejoining.advance(telemetry, self.counts.sent, dt)
        if self.state is State.ACTIVE and (missing := self._rejoining.missing):
            self.problem = f"{missing}: no set-point is sent"
            self._sender.halted()
        self._notice_faults(telemetry)
        if self.state is State.ENABLING and (self._sender.halt is None or self._sender.halted()):
            self._enable_next(telemetry, now_s)
        if self.relax_latched and telemetry.live:
            self.link.send(Relax())
        elif self.stop_latched and telemetry.live and not telemetry.faults & Fault.STOPPED.bit:
            self.link.send(Stop())
        self._advance_model(telemetry, dt)
        self._start_anew_if_due(telemetry, now_s)

    def _notice_faults(self, telemetry: Telemetry) -> None:
        if telemetry.boot_id != self._boot_id:
            old, self._boot_id = self._boot_id, telemetry.boot_id
            self._break_off(State.IDLE, f"the board was reset (boot id {old} -> {telemetry.boot_id})")
            self.problem += f"; {self._to_go_on}"
        elif telemetry.faults and self.engaged:
            self._break_off(State.IDLE, describe_faults(telemetry.faults))
        elif self.state is State.ACTIVE and telemetry.live != self._mask:
            self._break_off(State.IDLE, f"output off: {self._off(telemetry)}")

    @property
    def _to_go_on(self) -> str:
        """What has to be done until commands are followed again."""
        return "reset, then enable, to continue" if self.fault_latched or self.stop_latched else "enable to continue"

    def _enable_next(self, telemetry: Telemetry, now_s: float) -> None:
        try:
            self._enabling.send((telemetry, now_s))
        except StopIteration:
            self._become_active(telemetry)
        except PickerError as error:
            self._leave(State.IDLE, str(error))

    def _become_active(self, telemetry: Telemetry) -> None:
        self._begin_epoch(telemetry, "")
        self.state = State.ACTIVE

    def _begin_epoch(self, telemetry: Telemetry, remark: str) -> None:
        """From here on commands start at the pose and set-point that the outputs hold now.

        Raises:
            InfeasibleError: in the model the arm does not rest there; the session is idle then, the outputs hold.
        """
        self.setpoint = self._setpoint_of(telemetry)
        try:
            held = self.model.settle(self.setpoint, None if self.held is None else self.model.q)
        except PickerError as error:
            self._leave(State.IDLE, str(error))
            raise
        self.model.reset(held)
        self.held_effort = self.model.spring_torque(self.setpoint)
        self.begin_epoch(held, remark)
        self._sender.restart(self.setpoint)
        self._rejoining.begin()
        self._moved = False

    def _break_off(self, state: State, problem: str) -> None:
        """Leave because something went wrong; where outputs were commanded, nobody goes on before ``reset``."""
        if self.engaged:
            self.fault_latched = problem
        self._leave(state, problem)

    def _advance_model(self, telemetry: Telemetry, dt: float) -> None:
        torque = np.zeros(self.servos.n)
        if telemetry.live != self._mask:
            self.held = None  # the arm falls, or is being switched on: its pose is unknown
        elif self.held is not None and dt > 0.0:
            setpoint = self._setpoint_of(telemetry)
            q, v = self.model.step(setpoint, min(dt, LONGEST_STEP_S))
            effort = self.model.spring_torque(setpoint)
            torque = effort - self.servos.model.damping * v
            self._moved = self._moved or bool((setpoint != self.setpoint).any())
            if self._moved:  # on its way from where it was held
                self.held, self.setpoint, self.held_effort = q, setpoint, effort
        self.model.source = self.supply.measure(telemetry.supply_mv, torque, dt)
        self.budget.load(torque, np.array([pulse is not None for pulse in telemetry.pulses_us]))
        self.budget.advance(dt)

    def _setpoint_of(self, telemetry: Telemetry) -> np.ndarray:
        if telemetry.pulses != self._played[0]:
            self._played = telemetry.pulses, read_only(self.servos.to_angle(np.array(telemetry.pulses_us, dtype=float)))
        return self._played[1]

    @property
    def commanded(self) -> bool:
        return self._sender.last_s is not None

    @property
    def confirmed(self) -> bool:
        return not self._rejoining.missing

    @property
    def unseen_s(self) -> float:
        return max(self.clock.now() - self.link.telemetry_s - SEEN_S, 0.0)

    @property
    def outputs(self) -> str:
        telemetry = self.link.telemetry
        if telemetry is None or not self.link.connected:
            return "unknown"
        return "running" if telemetry.live == self._mask else "partly" if telemetry.live else "off"
