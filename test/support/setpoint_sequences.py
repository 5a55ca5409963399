"""Sequences of what a hardware session may meet, on a board and an arm in simulated time, and what must hold of its outputs.

A controller that behaves (:class:`Follow`), others that do not, people with switches and cables, a board that resets.  What is
required is read off the board's outputs, frame by frame, and off the plant; nothing of the session's own guard.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from arm_fixtures import picker, rigid_body, servos
from sequences import Broken, carrying, require
from stepped_board import STEP_S, SteppedBoard, SteppedLink, angles

from picker_dynamics.board.hardware_session import HardwareSession, State
from picker_dynamics.board.protocol import Fault
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.errors import PickerError

SERVOS = servos()
HOME, NAMES = np.array(SERVOS.home), SERVOS.joint_names
LEAD_S, PERIOD_S, TICK_S = 0.06, 0.01, 0.02
FRAME_S = 0.02

STEP_RAD = 0.08
"""What an output may step from one servo frame to the next [rad]: 0.04 per 10 ms."""

SPEED_RAD_S, BRIDGE_S, GAP_S = 4.0, 0.1, 0.25
"""How fast what is sent may move on [rad/s], over so long at the most, and after which gap it begins anew [s]."""

QUANTUM_RAD = 1e-3
"""Rounding of pulses to 1/8 us, and of angles back [rad]."""

STANDS_S = 0.5
"""Outputs that have not changed for so long stand [s], and the modelled arm on them."""

HELD_RAD = 0.013
"""The held pose against the true arm's [rad], where both stand: the deadband of 7.9 mrad, on both sides of which an arm may rest,
half a step of the true pulses, 3.8, and the rounding of those that are told."""

COMES_TO_REST_S = 1.5
"""Within which outputs stand, once nobody is followed [s]."""


@dataclass(frozen=True)
class Follow:
    """A controller for so long [s]: from the held set-point to home and so much more [rad], anew at each epoch.

    ``stubborn``: it never looks at epochs.  ``noise`` [rad rms]; ``period_s`` of its commands.
    """

    seconds: float
    by: tuple[float, ...] = (0.0,) * 5
    stubborn: bool = False
    noise: float = 0.0
    period_s: float = PERIOD_S
    seed: int = 0

    def do(self, at: Arm) -> None:
        rng, controller = np.random.default_rng(self.seed), Controller(at, HOME + np.array(self.by), self.stubborn)
        for k in range(round(self.seconds / PERIOD_S)):
            if k % max(1, round(self.period_s / PERIOD_S)) == 0:
                wanted = controller.next()
                if wanted is not None:
                    at.command(wanted + self.noise * rng.standard_normal(5))
            at.run(PERIOD_S)


class Controller:
    """At most 2 rad/s and 4 rad/s² from where it began to where it is to go."""

    def __init__(self, at: Arm, target: np.ndarray, stubborn: bool):
        self.at, self.stubborn, self.epoch = at, stubborn, None
        self.target = np.clip(target, picker().lower, picker().upper)

    def next(self) -> np.ndarray | None:
        session = self.at.session
        if self.epoch is None or (self.epoch != session.epoch and not self.stubborn):
            if session.state is not State.ACTIVE or session.setpoint is None:
                return None
            self.epoch, self.start, self.begin_s = session.epoch, session.setpoint.copy(), self.at.bench.now_s
            far = float(np.abs(self.target - self.start).max())
            self.takes_s = max(far / 1.3, (6.0 * far / 4.0) ** 0.5, 0.05)
        x = min((self.at.bench.now_s - self.begin_s) / self.takes_s, 1.0)
        return self.start + x * x * (3.0 - 2.0 * x) * (self.target - self.start)


@dataclass(frozen=True)
class Two:
    """Two controllers by turns, each at a pose of its own."""

    seconds: float
    one: tuple[float, ...]
    other: tuple[float, ...]
    stubborn: bool = True

    def do(self, at: Arm) -> None:
        both = [Controller(at, HOME + np.array(by), self.stubborn) for by in (self.one, self.other)]
        for _ in range(round(self.seconds / PERIOD_S)):
            for controller in both:
                wanted = controller.next()
                if wanted is not None:
                    at.command(wanted)
                at.run(PERIOD_S / 2.0)


@dataclass(frozen=True)
class Throw:
    """The same set-point ``count`` times, away from home by [rad], stamped so much after the usual [s]; NaN is NaN."""

    by: tuple[float, ...] = (0.0,) * 5
    count: int = 1
    shift_s: float = 0.0

    def do(self, at: Arm) -> None:
        for _ in range(self.count):
            at.command(HOME + np.array(self.by), self.shift_s)
            at.run(PERIOD_S)


@dataclass(frozen=True)
class Pause:
    """Nobody says anything for so long [s]."""

    seconds: float

    def do(self, at: Arm) -> None:
        at.run(self.seconds)


@dataclass(frozen=True)
class Stall:
    """The host stands still for so long [s]; link and board go on."""

    seconds: float

    def do(self, at: Arm) -> None:
        at.bench.run(self.seconds)


@dataclass(frozen=True)
class Press:
    """Somebody asks the session for that: stop, reset, enable, confirm (enable, at its rest pose), release, disable, rejoin."""

    what: str

    def do(self, at: Arm) -> None:
        at.press(self.what)
        at.run(PERIOD_S)


@dataclass(frozen=True)
class Recover:
    """Whatever has to be done until commands are followed again."""

    def do(self, at: Arm) -> None:
        at.recover()


@dataclass(frozen=True)
class Accident:
    """To the board: reset, a fault that comes and goes, or the cable out for so long [s]."""

    what: str
    seconds: float = 0.0

    def do(self, at: Arm) -> None:
        bench = at.bench
        if self.what == "unplug":
            bench.unplug()
        else:
            bench.reset() if self.what == "reset" else bench.touch(Fault[self.what])
        at.run(self.seconds)
        bench.plug_in()
        at.run(PERIOD_S)


class Arm:
    """A session on a bench, ticked as the node does.

    Attributes:
        looks: (time, state, held pose, set-point, the plant's pose) at each tick.
        asked, passed: how many commands there were; those that were sent: (epoch, time, set-point).
    """

    def __init__(self, found=HOME):
        self.bench = SteppedBoard(SERVOS, found)
        self.link = SteppedLink(self.bench, joint_names=NAMES)
        self.model = ArmStateModel(carrying(0.0), SERVOS.model, SERVOS.rest)
        self.session = HardwareSession(self.link, SERVOS, self.model, clock=self.bench)
        self.asked, self.passed = 0, list[tuple[int, float, np.ndarray]]()
        self.since_tick = 0.0
        self.looks: list[tuple[float, State, np.ndarray | None, np.ndarray | None, np.ndarray]] = []

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.bench.run(STEP_S)
            self.since_tick += STEP_S
            if self.since_tick >= TICK_S - 1e-9:
                self.since_tick = 0.0
                self.tick()

    def tick(self) -> None:
        session = self.session
        session.tick(self.bench.now_s)
        copies = [None if x is None else np.array(x) for x in (session.held, session.setpoint)]
        self.looks.append((self.bench.now_s, session.state, *copies, self.bench.plant.q))

    def command(self, q, shift_s: float = 0.0) -> None:
        self.asked += 1
        time_s = self.bench.now_s + LEAD_S + shift_s
        try:
            if self.session.command(time_s, q, self.bench.now_s):
                self.passed.append((self.session.epoch, time_s, np.array(q)))
        except PickerError:
            pass

    def press(self, what: str) -> None:
        session = self.session
        try:
            if what in ("enable", "confirm"):
                session.activate(at_rest_pose=what == "confirm")
            else:
                getattr(session, what)()
        except PickerError:
            pass

    def recover(self) -> None:
        """As a person would: plug in, connect, reset, put the arm at its rest pose if outputs are off, enable."""
        bench, session = self.bench, self.session
        bench.plug_in()
        self.run(0.2)
        for _ in range(5):
            try:
                if session.state is State.OFFLINE:
                    session.connect()
                session.reset()
                self.run(1.0)
                if session.state is State.IDLE:
                    session.activate(at_rest_pose=True)
            except PickerError:
                self.run(0.3)
            for _ in range(40):
                if session.state is not State.ENABLING:
                    break
                self.run(0.1)
            if session.state is State.ACTIVE:
                return
        raise Broken(f"it cannot be recovered: {session.state}, {session.problem}")


# -- what must hold ----------------------------------------------------------------------------------------------


def require_outputs(at: Arm) -> None:
    """Steps, range, and standing where nobody is followed."""
    frames = at.bench.frames
    q, times = angles(SERVOS, frames), np.array([frame.time_s for frame in frames])
    low, high = SERVOS.setpoint_lower - QUANTUM_RAD, SERVOS.setpoint_upper + QUANTUM_RAD
    inside = np.isnan(q) | ((q >= low) & (q <= high))
    require(inside.all(), f"an output is out of range: {q[~inside.all(axis=1)][:1]}")
    for k, (before, after) in enumerate(zip(frames, frames[1:])):
        step = np.abs(q[k + 1] - q[k])  # NaN where it was switched on or off
        count = max(1, round((after.time_s - before.time_s) / FRAME_S)) if after.boot_id == before.boot_id else 1
        j = int(np.nanargmax(np.nan_to_num(step)))
        require(
            not step[j] > STEP_RAD + QUANTUM_RAD,
            f"{NAMES[j]}'s output steps {step[j]:.3f} rad at {after.time_s:.3f} s, {count} frames after the last change",
        )
    states = np.array([look[0] for look in at.looks]), [look[1] for look in at.looks]
    quiet_s = None
    k = 0
    for time_s, state in zip(*states):
        if state is State.ACTIVE or state is State.ENABLING:
            quiet_s = None
            continue
        quiet_s = time_s if quiet_s is None else quiet_s
        while k + 1 < len(times) and times[k + 1] <= time_s:
            k += 1
        if k and time_s - quiet_s > COMES_TO_REST_S and times[k] > quiet_s + COMES_TO_REST_S:
            moved = np.abs(q[k] - q[k - 1])
            require(not np.nanmax(np.nan_to_num(moved)) > 0.0, f"outputs move at {times[k]:.3f} s, {state} since {quiet_s:.3f} s")


def require_passed(at: Arm) -> None:
    """What was sent to the board in one epoch: finite, later each time, and no further than the time since allows."""
    for (epoch, before_s, before), (same, time_s, q) in zip(at.passed, at.passed[1:]):
        require(np.isfinite(q).all(), f"sent {q}")
        if same != epoch or time_s - before_s > GAP_S:
            continue
        require(time_s > before_s, f"sent for {time_s:.3f} s after {before_s:.3f} s")
        step, most = np.abs(q - before), SPEED_RAD_S * min(time_s - before_s, BRIDGE_S) + QUANTUM_RAD
        require(step.max() <= most, f"{NAMES[step.argmax()]}: sent {step.max():.3f} rad on in {time_s - before_s:.3f} s")


def require_held(at: Arm) -> None:
    """Where outputs stand and the session is active, its set-point is theirs, and its held pose where the true arm is.

    A host that stood still has the model catch up first.
    """
    frames = at.bench.frames
    q, times = angles(SERVOS, frames), np.array([frame.time_s for frame in frames])
    before_s = awake_s = 0.0
    for time_s, state, held, setpoint, true_q in at.looks:
        awake_s, before_s = time_s if time_s - before_s > 2.5 * TICK_S else awake_s, time_s
        if state is not State.ACTIVE:
            continue
        k = int(np.searchsorted(times, time_s, side="right")) - 1
        if time_s - times[k] < STANDS_S or np.isnan(q[k]).any():
            continue
        require(held is not None and setpoint is not None, f"nothing is held at {time_s:.3f} s, though active")
        away = np.abs(setpoint - q[k])
        require(away.max() <= QUANTUM_RAD, f"{NAMES[away.argmax()]}: set-point said {away.max():.3f} rad off at {time_s:.3f} s")
        if time_s - awake_s < STANDS_S:
            continue
        away = np.abs(held - true_q) - held_back(held)
        require(
            away.max() <= HELD_RAD, f"{NAMES[away.argmax()]}: held pose {away.max():.3f} rad off the true one at {time_s:.3f} s"
        )


def held_back(q: np.ndarray) -> np.ndarray:
    """(n,) within which gears and play hold joints that bear their weight [rad]: where in it, the last noise decides."""
    motor = SERVOS.model.motor_for(rigid_body().gravity(q), np.ones(len(q)))
    width: np.ndarray = 2.0 * SERVOS.model.friction(motor) / SERVOS.model.stiffness + SERVOS.model.play
    return width


def require_followed(at: Arm) -> None:
    """After all of it a controller that begins at the held pose is followed to where it goes."""
    at.recover()
    target = HOME + np.array([0.1, -0.05, 0.05, 0.0, 0.0])
    Follow(6.0, tuple(target - HOME)).do(at)
    outputs = angles(SERVOS, at.bench.frames[-1:])[0]
    away = np.abs(outputs - target)
    require(away.max() < 5e-3, f"{NAMES[away.argmax()]} is not followed: {away.max():.3f} rad away, {at.session.problem}")


def execute(steps, found=HOME) -> Arm:
    """All steps from an active session, then a controller that behaves; everything is required of it."""
    at = Arm(found)
    with at.bench.clock():
        at.session.connect()
        at.session.activate(at_rest_pose=found is None)
        at.run(0.1)
        for step in steps:
            step.do(at)
        at.run(0.5)
        require_followed(at)
    counted = sum(vars(at.session.counts).values())
    require(counted == at.asked, f"{at.asked} commands, {counted} counted: {at.session.counts}")
    require_outputs(at)
    require_passed(at)
    require_held(at)
    return at
