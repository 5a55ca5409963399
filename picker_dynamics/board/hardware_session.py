"""What the hardware node does with a board, free of ROS: enable, adopt, stream, stop, and what to say when it breaks.

    offline --connect--> idle --activate--> enabling --> active --stop, fault, reset of the board--> idle (with a problem)
                          ^                    (outputs that run already are adopted: active at once)       |
                          +-------------------------------- link lost: offline, reconnect ------------------+

All methods return at once, except ``connect`` (call it off the executor) and the short requests of ``activate``,
``reset`` and ``disable``.  ``tick`` advances everything that takes time.  Times are host seconds of ``time.monotonic``.
"""

from __future__ import annotations

import threading
import time

import numpy as np

from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.errors import BoardFaultError, InputError, LinkError, PickerError
from picker_dynamics.robot.servo_budget import ServoBudget
from picker_dynamics.robot.servo_map import ServoMap

from .command_timing import Stamps
from .enabling import Enabling
from .firmware.config import board_limits
from .link import Link
from .protocol import (
    Adopt,
    BoardState,
    Disable,
    Fault,
    Relax,
    Reset,
    Stop,
    Telemetry,
    ahead_us,
    describe_faults,
    limits_checksum,
    pulse_units,
)
from .session_state import CommandCounts, State

REQUEST_TIMEOUT_S = 0.5
"""For the board's answer: five attempts."""

ENABLE_PERIOD_S = 0.3
"""Between two joints, at the first enabling."""

NEAR = 0.03
"""How far the first command may be from the set-point on the outputs [rad]."""

REJOIN_S = 0.3
"""After commands have been away from the outputs for this long, everyone restarts from the held pose."""

PAUSE_S = 0.3
"""After so long without a command the next one has to start from the outputs again."""

SPACING_S = 0.003
"""Commands that follow closer are thinned out [s]: the board's queue has to span the lead, and interpolates anyway."""

LONGEST_STEP_S = 0.1
"""Of the modelled state: after a pause it goes on from where it was."""

PAST_S = 0.1
"""A command that should have held this long ago is not sent any more."""


class HardwareSession:
    """One board and the arm on it.

    Args:
        link: the serial link, not opened yet.
        servos: joint <-> pulse.
        state_model: the modelled joint state.
        budget: estimates of current and temperature, fed from it.
    """

    def __init__(self, link: Link, servos: ServoMap, state_model: ArmStateModel, budget: ServoBudget | None = None):
        self.link, self.servos, self.model = link, servos, state_model
        self.budget = budget or ServoBudget(servos)
        self.state = State.OFFLINE
        self.problem = "not connected"
        self.stop_latched = self.relax_latched = False
        self.cancelled = threading.Event()
        self.epoch = 0
        self.counts = CommandCounts()
        self.held: np.ndarray | None = None
        self.setpoint: np.ndarray | None = None
        self.limits_differ = False
        self.lost = ""
        link.on_loss = self._on_loss
        self._mask = (1 << servos.n) - 1
        self._all_live, self._no_torque = np.ones(servos.n, dtype=bool), np.zeros(servos.n)
        self._boot_id: int | None = None
        self._last_command: tuple[float, np.ndarray] | None = None
        self._away_since: float | None = None
        self._paused_s, self._stamps = 0.0, Stamps()
        self._enabling: Enabling | None = None
        self._last_step_s: float | None = None

    def connect(self) -> None:
        """Open the port and shake hands, again and again with growing pauses until it works or ``cancelled`` is set.

        Raises:
            LinkError: cancelled.
            VersionError: the board speaks another protocol version: trying again would not help.
            BoardFaultError: the board drives another number of joints.
        """
        info = self.link.reconnect(cancelled=self.cancelled, on_failure=self._on_failure)
        if info.joints != self.servos.n:
            self.link.close()
            raise BoardFaultError(
                f"the board drives {info.joints} joints, the servo map names {self.servos.n}",
                value=info.joints,
                limit=self.servos.n,
            )
        telemetry = self.telemetry()
        self.limits_differ = info.limits_crc != limits_checksum(board_limits(self.servos))
        before, self._boot_id = self._boot_id, telemetry.boot_id
        faults = telemetry.faults & ~Fault.HOST_LOST.bit
        self.state, self.problem = State.IDLE, describe_faults(faults) or self._welcome(before)

    def _welcome(self, boot_id: int | None) -> str:
        """What is to be said of a board that is back, and that had this boot id; '' of a new one."""
        if self.stop_latched:
            return "connected; a stop is latched: reset, then enable, to go on"
        if boot_id is None:
            return ""
        if boot_id == self._boot_id:
            return "the board is back and holds; enable to go on"
        return f"the board is back, and was reset meanwhile (boot id {boot_id} -> {self._boot_id}); enable to go on"

    def disconnect(self) -> None:
        """Close the port; the board holds what it has."""
        self.cancelled.set()
        self.link.close()
        self._leave(State.OFFLINE, "not connected")

    def telemetry(self) -> Telemetry:
        """The newest telemetry.

        Raises:
            LinkError: not connected.
        """
        telemetry = self.link.telemetry
        if not self.link.connected or telemetry is None:
            raise LinkError("the board is not connected")
        return telemetry

    # -- switching on and off ------------------------------------------------------------------------------

    def activate(self, at_rest_pose: bool) -> str:
        """Adopt outputs that run, or switch them on one joint at a time; returns what is being done.

        Args:
            at_rest_pose: a person has put the arm at its rest pose and says so.  Needed where outputs are off: a servo
                without feedback jumps from wherever it is to where the first pulse sends it.

        Raises:
            PickerError: stop latched, a fault, no connection, or outputs off and the pose not confirmed.
        """
        if self.stop_latched:
            raise BoardFaultError("stop is latched: call reset first")
        telemetry = self.telemetry()
        faults = telemetry.faults & ~Fault.HOST_LOST.bit
        if faults:
            raise BoardFaultError(describe_faults(faults))
        if telemetry.faults:
            self._clear_faults()
        if telemetry.live and telemetry.live & ~telemetry.owned:
            self.link.request(Adopt(telemetry.live & ~telemetry.owned), REQUEST_TIMEOUT_S)
        if telemetry.live == self._mask and not self.moving:
            self._become_active(telemetry)
            return "outputs were running: adopted"
        if telemetry.live != self._mask and not at_rest_pose:
            raise BoardFaultError(
                f"outputs are off and the arm's pose is unknown: put it at its rest pose ({self._rest_text()}), then enable"
            )
        self.state, self.problem = State.ENABLING, ""
        self._enabling = Enabling(self.link, self.servos, ENABLE_PERIOD_S)
        off = [name for joint, name in enumerate(self.servos.joint_names) if not telemetry.live >> joint & 1]
        if not off:
            return "outputs were running: adopted as soon as they stand"
        return f"enabling {', '.join(off)}, one every {ENABLE_PERIOD_S} s"

    def release(self) -> None:
        """Stop streaming and hold; the outputs stay on."""
        if self.state in (State.ACTIVE, State.ENABLING):
            self._leave(State.IDLE, "released: holding")

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
        self.stop_latched = True
        if self.state is not State.OFFLINE:
            self._leave(State.IDLE, "stopped: holding; reset, then enable, to go on")
        if self.link.connected:
            self.link.request_async(Stop())

    def relax(self) -> None:
        """Cut all pulses at once, to free a pinched hand: the arm falls."""
        self.stop_latched = True
        self.telemetry()
        self.relax_latched = True
        self.link.request_async(Relax())
        self._leave(State.IDLE, "relaxed: outputs off; reset, then enable at the rest pose, to go on")

    def reset(self) -> None:
        """Clear stop and faults whose cause is gone; moves and resumes nothing.

        Raises:
            PickerError: not connected, or a cause that is still there.
        """
        self.telemetry()
        self._clear_faults()
        self.stop_latched = self.relax_latched = False
        if self.state is State.IDLE:
            self.problem = ""

    def _clear_faults(self) -> None:
        """Reset the board, and wait for the telemetry that says so: what comes next looks at it."""
        done = self.link.request(Reset(), REQUEST_TIMEOUT_S)
        until_s = time.monotonic() + REQUEST_TIMEOUT_S
        while ahead_us(self.telemetry().time_us, done.time_us) < 0 or self.telemetry().faults:
            if time.monotonic() > until_s:
                raise BoardFaultError(describe_faults(self.telemetry().faults) or "the board sends no telemetry")
            time.sleep(0.002)

    def rejoin(self) -> None:
        """Let commands start anew from where the outputs are now.

        Raises:
            LinkError: not connected.
        """
        self._begin_epoch(self.telemetry(), "")

    # -- streaming -----------------------------------------------------------------------------------------

    def command(self, time_s: float, q_cmd, now_s: float) -> bool:
        """Send the set-point ``q_cmd`` (n,) [rad], to hold at ``time_s``; returns whether it was sent.

        Raises:
            InputError: a set-point that is not finite, or outside the pulse range; nothing is sent.
            LinkError: the cable was pulled.
        """
        outcome = "invalid"
        try:
            outcome = self._pass_on(time_s, np.array(q_cmd, dtype=float), now_s)
        except LinkError:
            outcome = "failed"
            raise
        finally:
            setattr(self.counts, outcome, getattr(self.counts, outcome) + 1)
        return outcome == "sent"

    def _pass_on(self, time_s: float, q_cmd: np.ndarray, now_s: float) -> str:
        """Send a command if it may be sent; in which count it belongs."""
        if self.state is not State.ACTIVE:
            return "not_active"
        if time_s < now_s - PAST_S:
            return "stale"
        for name, angle in zip(self.servos.joint_names, q_cmd):
            if not np.isfinite(angle):
                raise InputError(f"{name}: the set-point is {angle}, not a finite number", subject=name, value=float(angle))
        if not self._joins(time_s, q_cmd, now_s):
            return "away"
        if self._last_command is not None and 0.0 <= time_s - self._last_command[0] < SPACING_S:
            return "thinned"
        pulses = tuple(pulse_units(pulse) for pulse in self.servos.to_pulse_us(q_cmd))
        if self._last_command is None:
            self._stamps.restart()
        self.link.send_setpoint(self._stamps.stamp(time_s, self.link.board_time_us(time_s)), pulses)
        self._last_command = (time_s, q_cmd)
        return "sent"

    def _joins(self, time_s: float, q_cmd, now_s: float) -> bool:
        """Whether a command continues where the outputs are; where none does for a while, all restart from there."""
        if self._last_command is not None and time_s - self._last_command[0] > PAUSE_S:
            self._paused_s = time_s - self._last_command[0]
            self._last_command, self.setpoint = None, self._setpoint_of(self.telemetry())
        if self._last_command is None:
            gap, allowed = np.abs(q_cmd - self.setpoint), NEAR
        else:
            before_s, before = self._last_command
            gap = np.abs(q_cmd - before)
            allowed = NEAR + self.servos.no_load_speed * max(time_s - before_s, 0.0)
        if (gap <= allowed).all():
            self._away_since, self._paused_s = None, 0.0
            return True
        if self._away_since is None:
            self._away_since = now_s
        elif now_s - self._away_since > REJOIN_S:
            why = f"paused for {self._paused_s:.2f} s" if self._paused_s else "did not start from the held pose"
            self._begin_epoch(self.telemetry(), f"commands {why}: restarting from where the arm is held")
        return False

    # -- time ----------------------------------------------------------------------------------------------

    def tick(self, now_s: float) -> None:
        """Look at the newest telemetry and do what is due."""
        if self.state is State.OFFLINE:
            self.budget.advance(self._since_last_step(now_s))  # it holds, and goes on warming up
            return
        if not self.link.connected:
            self._leave(State.OFFLINE, f"{self.lost or 'the link is lost'}; the board holds")
            return
        telemetry = self.telemetry()
        self._notice_faults(telemetry)
        if self.state is State.ENABLING:
            self._enable_next(telemetry, now_s)
        if self.relax_latched and telemetry.live:
            self.link.send(Relax())
        elif self.stop_latched and telemetry.live and not telemetry.faults & Fault.STOPPED.bit:
            self.link.send(Stop())
        self._advance_model(telemetry, now_s)

    def _notice_faults(self, telemetry: Telemetry) -> None:
        if telemetry.boot_id != self._boot_id:
            old, self._boot_id = self._boot_id, telemetry.boot_id
            self._leave(State.IDLE, f"the board was reset (boot id {old} -> {telemetry.boot_id}); reset, then enable, to go on")
        elif telemetry.faults and self.state in (State.ACTIVE, State.ENABLING):
            self._leave(State.IDLE, describe_faults(telemetry.faults))
        elif self.state is State.ACTIVE and telemetry.live != self._mask:
            off = [name for joint, name in enumerate(self.servos.joint_names) if not telemetry.live >> joint & 1]
            self._leave(State.IDLE, f"output off: {', '.join(off)}")

    def _enable_next(self, telemetry: Telemetry, now_s: float) -> None:
        try:
            if self._enabling.advance(telemetry, self.moving, now_s):
                self._become_active(telemetry)
        except PickerError as error:
            self._leave(State.IDLE, str(error))

    def _become_active(self, telemetry: Telemetry) -> None:
        self._begin_epoch(telemetry, "")
        self.state = State.ACTIVE

    def _begin_epoch(self, telemetry: Telemetry, remark: str) -> None:
        """From here on commands start at the pose and set-point that the outputs hold now."""
        self.setpoint = self._setpoint_of(telemetry)
        self.held = self.model.settle(self.setpoint)
        self.model.reset(self.held)
        self.epoch += 1
        self.problem = remark
        self._last_command = self._away_since = None
        self._paused_s = 0.0

    def _on_loss(self, error: LinkError) -> None:
        self.lost = str(error)

    def _on_failure(self, error: LinkError) -> None:
        self.problem = f"{error}; trying again"

    def _leave(self, state: State, problem: str) -> None:
        self.state, self.problem = state, problem
        self._last_command = self._away_since = self._enabling = None

    def _since_last_step(self, now_s: float) -> float:
        dt = 0.0 if self._last_step_s is None else now_s - self._last_step_s
        self._last_step_s = now_s
        return dt

    def _advance_model(self, telemetry: Telemetry, now_s: float) -> None:
        dt = self._since_last_step(now_s)
        torque = self._no_torque
        if telemetry.live != self._mask:
            self.held = None  # the arm falls, or is being switched on: nobody knows where it is
        elif self.held is not None and dt > 0.0:
            setpoint = self._setpoint_of(telemetry)
            q, v = self.model.step(setpoint, min(dt, LONGEST_STEP_S))
            torque = self.model.servo.torque(setpoint, q, v)
        self.budget.load(torque, self._outputs(telemetry.live))
        self.budget.advance(dt)

    def _outputs(self, live: int) -> np.ndarray:
        """(n,) whether each output runs."""
        if live == self._mask:
            return self._all_live
        return np.array([bool(live >> joint & 1) for joint in range(self.servos.n)])

    def _setpoint_of(self, telemetry: Telemetry) -> np.ndarray:
        return self.servos.to_angle(np.array([pulse for pulse in telemetry.pulses_us], dtype=float))

    def _rest_text(self) -> str:
        return ", ".join(f"{name} {angle:.2f} rad" for name, angle in zip(self.servos.joint_names, self.servos.rest))

    @property
    def moving(self) -> bool:
        """Whether the board is following set-points or decelerating."""
        telemetry = self.link.telemetry
        return telemetry is not None and telemetry.state in (BoardState.MOVE, BoardState.BRAKE)
