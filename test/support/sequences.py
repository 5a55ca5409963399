"""Sequences of what may be asked of an arm, executed in simulated time with the plant behind them, and what must hold of them.

A :class:`Session` is an execution, its compensation, the board's frames and the simulated arm, ticked as the
nodes tick.  What is required of what it sent is computed from the numbers that were sent alone: finite differences, Pinocchio's
inverse dynamics and kinematics, the URDF; nothing of the guard, of checks or of the model that the execution itself has.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from arm_fixtures import picker, rigid_body, servos, tip_speeds
from execution_rig import HOME, NAMES, goal

from picker_dynamics.control.compensation import Compensator
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.dynamics.lagrangian import analytic_model
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.collision import FloorCheck
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.execution import Execution, Limits, Timing
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.motion import Phase, Reference
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.sim.plant import Plant

PERIOD_S, LEAD_S, FRAME_S, DECELERATION = 0.01, 0.06, 0.02, 4.0
LOWER, UPPER, SPEED = picker().lower, picker().upper, picker().velocity
TORQUES = TorqueLimits.of_servos(servos())
PLANT_STEP_S = 1e-3

BRAKING_S = 1.5
"""Within which a motion under way obeys limits that became tighter [s]."""

TORQUE_SLACK = 0.05
"""Share by which torque may exceed its limit: motions are looked at every 10 ms."""

SPEED_SLACK = 0.02
POSITION_SLACK = 2e-3
FLOOR_SLACK_M = 2e-3
REST_SLACK = 1e-3

TIP_AWAY_M = 0.012
"""The true tip against where the reference says it is [m]: pulses and deadband are 3 mm, the rest is lag of the servos."""

TAKEN_AWAY = 0.05
"""Likewise for each kilogram that was taken on the way [m/kg]: on which side friction bears it is known after the next motion.
Ideal servos come to rest within a millimetre."""

SNAPPED_AWAY_M = 0.004
"""Likewise after a gap of more than a lead, which is bridged here by a step of the set-point [m]."""

TIP_SPEED_SLACK, TIP_WINDOW_S = 0.08, 0.2
"""True speed of the tip beyond what is allowed [m/s], over so long: the servos' springs swing."""

MOST_STALL_S = 2.0
"""So long the plant goes on while the loop does not run [s]."""

UNSETTLED_S = 1.0
"""After a start the set-point fades in from where outputs stood: so long the true arm is not where the reference is [s]."""


# -- what may be asked ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wait:
    """Nothing for so long [s]."""

    seconds: float

    def do(self, at: Session) -> None:
        at.run(self.seconds)


@dataclass(frozen=True)
class Ask:
    """A goal: waypoints (k, m) [rad] of some joints at times [s] from its start; ``later_s`` when that is, from now.

    ``fields``: "q" positions alone, "qv" at rest at each, "qva" likewise with accelerations, "through" with velocities between.
    """

    times: tuple[float, ...]
    positions: tuple[tuple[float, ...], ...]
    joints: tuple[str, ...] = NAMES
    fields: str = "qva"
    later_s: float | None = None
    track: str = "arm"

    def do(self, at: Session) -> None:
        q, times = np.array(self.positions), np.array(self.times)
        still = np.zeros_like(q)
        v = still.copy()
        if self.fields == "through" and len(q) > 1:
            v[:-1] = np.gradient(q, times, axis=0)[:-1]
        options = {
            "velocities": None if self.fields == "q" else v.tolist(),
            "accelerations": still.tolist() if self.fields == "qva" else None,
            "start_s": None if self.later_s is None else at.now_s + self.later_s,
            "partial": True,
            "track": self.track,
        }
        at.ask(goal(*q.tolist(), times=times.tolist(), names=self.joints, **options))


@dataclass(frozen=True)
class Cancel:
    """The newest goal that was asked for, or all and a stream."""

    everything: bool = True

    def do(self, at: Session) -> None:
        at.execution.cancel(at.now_s, None if self.everything or not at.requests else at.requests[-1])


@dataclass(frozen=True)
class Stream:
    """Samples at 100 Hz, from where the reference is: ``swing`` [rad] at ``hertz``, noise [rad rms], a step [rad] and a gap [s]
    in the middle; ``late_s``: stamped so long ago."""

    seconds: float
    swing: tuple[float, ...] = (0.0,) * 5
    hertz: float = 0.2
    noise: float = 0.0
    step: tuple[float, ...] = (0.0,) * 5
    gap_s: float = 0.0
    late_s: float | None = None
    seed: int = 0

    def do(self, at: Session) -> None:
        rng, centre = np.random.default_rng(self.seed), at.pose.copy()
        count = round(self.seconds / PERIOD_S)
        for k in range(count):
            time_s = k * PERIOD_S
            q = centre + np.array(self.swing) * (1.0 - np.cos(2.0 * np.pi * self.hertz * time_s)) / 2.0
            q += self.noise * rng.standard_normal(5) + (np.array(self.step) if 2 * k >= count else 0.0)
            at.execution.stream(
                NAMES, np.clip(q, LOWER, UPPER), at.now_s, None if self.late_s is None else at.now_s - self.late_s
            )
            at.run(PERIOD_S)
            if 2 * k == count or 2 * k == count - 1:
                at.run(self.gap_s)


@dataclass(frozen=True)
class Payload:
    """What the tool holds [kg]; refused where the arm could not hold it as it stands, as the controller does."""

    mass: float

    def do(self, at: Session) -> None:
        at.carry(self.mass)


@dataclass(frozen=True)
class Speed:
    """Share of full speed."""

    share: float

    def do(self, at: Session) -> None:
        at.change(speed=self.share)


@dataclass(frozen=True)
class TipLimit:
    """Largest speed of the tool [m/s]."""

    speed: float

    def do(self, at: Session) -> None:
        at.change(tip_speed=self.speed)


@dataclass(frozen=True)
class Stall:
    """The loop does not run for so long [s]; negative: its clock is set back."""

    seconds: float

    def do(self, at: Session) -> None:
        at.stall(self.seconds)


@dataclass(frozen=True)
class Restart:
    """The hardware is not active for so long [s], then holds the pose that its set-points stand for."""

    seconds: float = 0.0

    def do(self, at: Session) -> None:
        at.restart(self.seconds)


# -- the arm ------------------------------------------------------------------------------------------------------


@cache
def carrying(mass: float):
    """The execution's model: closed form, as in the controller."""
    return analytic_model(picker(), servos().armature, mass)


@dataclass(frozen=True)
class Sent:
    """One reference, with what held when it was sent."""

    reference: Reference
    epoch: int
    tip_speed: float
    mass: float


@dataclass
class Truth:
    """Of the plant, every ``FRAME_S``."""

    time_s: list[float] = field(default_factory=list)
    tip: list[np.ndarray] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)


class Session:
    """An execution with the arm behind it, in simulated time.

    Attributes:
        now_s: the execution's clock; ``true_s``: the plant's.
        sent: every reference, in order.
        wanted, answers: each goal, and what it was answered.
        set_back: whether the clock was.
        unsettled: true times within which the true arm is not where the reference is.
        snapped_s: true time of the first gap of more than a lead.
    """

    def __init__(self, pose=HOME, *, plant: bool = True, floor_z: float = 0.0):
        self.now_s, self.true_s, self.epoch, self.mass = 100.0, 0.0, 0, 0.0
        self.sent: list[Sent] = []
        self.requests: list[GoalRequest] = []
        self.answers: list[list] = []
        self.events, self.wanted = [], []
        self.unsettled: list[tuple[float, float]] = []
        self.snapped_s = np.inf
        self.truth, self.tip_due = Truth(), []
        self.floor_z, self.set_back = floor_z, False
        limits = Limits(TORQUES, carrying(0.0), further=(FloorCheck(picker(), floor_z, DECELERATION),), approach=True)
        self.execution = Execution(picker(), limits, Timing(1.0 / PERIOD_S, LEAD_S), DECELERATION, self._take)
        self.model = ArmStateModel(carrying(0.0), servos().model, pose)
        self.compensator = Compensator(carrying(0.0), servos())
        load = carrying(0.0).gravity(pose)
        self.setpoint = np.asarray(pose) + servos().model.offset(load)
        self.queue: deque[tuple[float, np.ndarray, np.ndarray]] = deque(maxlen=100)
        self.plant = Plant(picker(), servos(), q=pose, dt=PLANT_STEP_S) if plant else None
        self._frame_s = 0.0
        self._begin(np.asarray(pose, dtype=float))

    # -- time ----------------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            self.tick()

    def tick(self) -> None:
        self.now_s += PERIOD_S
        self.events += self.execution.tick(self.now_s).events
        self._advance(PERIOD_S)

    def stall(self, seconds: float) -> None:
        """A gap of more than a lead is bridged by the hardware session, which is not part of this: the last set-point, with the
        lead that a moving arm needs, stands until references go on; of a clock that was set back, when it is where it was."""
        self.set_back |= seconds < 0.0
        self.now_s += seconds
        missed_s = min(max(seconds, 0.0), MOST_STALL_S)
        if abs(seconds) >= LEAD_S:
            self.snapped_s = min(self.snapped_s, self.true_s)
            self._is_unsettled(max(missed_s, -seconds))
        self._advance(missed_s)

    def to_rest(self, longest_s: float = 60.0) -> None:
        """Cancelled, and until the arm stands."""
        self.execution.cancel(self.now_s)
        for _ in range(round(longest_s / PERIOD_S)):
            if self.execution.phase in (Phase.HOLDING, Phase.INACTIVE):
                break
            self.tick()

    # -- what is asked -------------------------------------------------------------------------------------------

    @property
    def pose(self) -> np.ndarray:
        """Of the newest reference (n,) [rad]."""
        return self.sent[-1].reference.q if self.sent and self.sent[-1].epoch == self.epoch else self.held

    def ask(self, wanted) -> None:
        answers: list = []
        number = len(self.answers)
        self.answers.append(answers)
        self.requests.append(GoalRequest(lambda: wanted, wanted.track, str(number), answer=answers.append))
        self.wanted.append(wanted)
        self.execution.submit(self.requests[-1])

    def change(self, **limits) -> None:
        try:
            self.execution.change_some(**limits)
        except PickerError:
            pass  # refused: what was, holds

    def carry(self, mass: float) -> None:
        try:
            torque_validator(carrying(mass), TORQUES).require_holdable(self.pose)
            self.execution.change_some(model=carrying(mass))
        except PickerError:
            return
        self.mass = mass
        self.compensator.set_payload(mass)
        self.model.model = carrying(mass)
        if self.plant is not None:
            self.plant.attach(mass)
            self._is_unsettled()

    def restart(self, seconds: float) -> None:
        self.execution.deactivate("tried")
        self.queue.clear()
        self._is_unsettled(seconds)
        self.run(seconds)
        self._begin(self.model.settle(self.setpoint, self.pose))

    def _begin(self, pose: np.ndarray) -> None:
        self.epoch, self.held = self.epoch + 1, pose
        self.compensator.start(self.setpoint - pose)
        self._last_s: float | None = None
        self.execution.start(pose)
        self._is_unsettled()

    def _is_unsettled(self, more_s: float = 0.0) -> None:
        self.unsettled.append((self.true_s - LEAD_S, self.true_s + more_s + UNSETTLED_S))

    # -- what is sent ----------------------------------------------------------------------------------------------

    def _take(self, reference: Reference) -> None:
        """As the law and the board's queue do."""
        self.sent.append(Sent(reference, self.epoch, self.execution.limits.tip_speed, self.mass))
        if self.plant is None:
            return
        step = 0.0 if self._last_s is None else min(max(reference.time_s - self._last_s, 0.0), 0.1)
        self._last_s = reference.time_s
        setpoint, _ = self.compensator.update(reference.q, reference.v, reference.a, step)
        holds_s = self.true_s + (reference.time_s - self.now_s)
        self.queue.append((holds_s, setpoint, reference.q))

    def _advance(self, seconds: float) -> None:
        """The board plays its queue frame by frame, at each frame's middle; the arm moves."""
        self.true_s += seconds
        while self.plant is not None and self._frame_s + FRAME_S <= self.true_s + 1e-9:
            played = self._played(self._frame_s + FRAME_S / 2.0)
            if played is not None:
                self.setpoint = played[0]
            pulses = servos().to_pulse_us(np.clip(self.setpoint, servos().setpoint_lower, servos().setpoint_upper))
            self.plant.advance(tuple(pulses.tolist()), FRAME_S)
            self._frame_s += FRAME_S
            self.truth.time_s.append(self._frame_s)
            self.truth.tip.append(self.plant.tip)
            self.truth.mass.append(self.mass)
            due = self._played(self._frame_s)
            self.tip_due.append(np.full(5, np.nan) if due is None else due[1])

    def _played(self, time_s: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Set-point and reference at that time; None: nothing is known of it."""
        while len(self.queue) > 1 and self.queue[1][0] <= time_s:
            self.queue.popleft()
        if not self.queue or self.queue[0][0] > time_s:
            return None
        if len(self.queue) == 1:
            return self.queue[0][1:]
        (begin_s, *begin), (end_s, *end) = self.queue[0], self.queue[1]
        share = min((time_s - begin_s) / (end_s - begin_s), 1.0)
        setpoint, q = (x + share * (y - x) for x, y in zip(begin, end))
        return setpoint, q


# -- what must hold --------------------------------------------------------------------------------------------------


class Broken(AssertionError):
    """An invariant that does not hold, with numbers."""


def require(holds, text: str) -> None:
    if not holds:
        raise Broken(text)


def require_all(within: np.ndarray, values: np.ndarray, times: np.ndarray, what: str) -> None:
    """``within`` (s, ...) everywhere; else where the value is worst."""
    if not within.all():
        bad = np.argwhere(~within)
        where = tuple(bad[int(np.argmax([abs(values[tuple(one)]) for one in bad]))])
        joint = f" {NAMES[where[1]]}" if len(where) > 1 else ""
        raise Broken(f"{what}:{joint} {values[where]:.4g} at {times[where[0]]:.3f} s, {len(bad)} times")


def heights(q: np.ndarray) -> np.ndarray:
    """(s, 4) of elbow, wrist, scissor and tool [m], by the URDF's definition."""
    poses = link_poses(picker(), q)
    links = [picker().joint(name).child for name in NAMES[2:]]
    return np.stack([poses[link].position[..., 2] for link in (*links, picker().tool)], axis=-1)


def torques(q, v, a, mass: np.ndarray) -> np.ndarray:
    """(s, n) Pinocchio's, with the payload of each [kg]."""
    found = np.empty_like(q)
    for one in np.unique(mass):
        rows = mass == one
        found[rows] = rigid_body(float(one)).required_torque(q[rows], v[rows], a[rows])
    return found


def lately(time_s: np.ndarray, values: np.ndarray, pick) -> np.ndarray:
    """The ``pick`` (min or max) of each value and those of the last ``BRAKING_S``."""
    first = np.searchsorted(time_s, time_s - BRAKING_S)
    changes = np.flatnonzero(np.diff(values))
    if not len(changes):
        return values
    return np.array([pick(values[min(begin, k) : k + 1]) for k, begin in enumerate(first)])  # the clock may step back


def require_reference(at: Session) -> None:
    """Of all that was sent."""
    times = np.array([one.reference.time_s for one in at.sent])
    epochs = np.array([one.epoch for one in at.sent])
    same = np.diff(epochs) == 0
    require_all((np.diff(times) > 0.0) | ~same, np.diff(times), times[1:], "time does not go on")
    q, v, a = (np.array([getattr(one.reference, name) for one in at.sent]) for name in "qva")
    require(np.isfinite(np.stack([q, v, a])).all(), "not finite")
    begins = np.flatnonzero(np.concatenate([[True], ~same]))
    require(np.abs(v[begins]).max() < 1e-9, "an epoch begins moving")

    dt = np.diff(times)[:, None]
    moved, changed = np.diff(q, axis=0) / dt, np.diff(v, axis=0) / dt
    usual = same & (dt[:, 0] < 2.5 * PERIOD_S)
    require_all(np.abs(v) <= SPEED * (1.0 + SPEED_SLACK), v, times, "joint velocity")
    require_all((np.abs(moved) <= SPEED * (1.0 + SPEED_SLACK))[same], moved[same], times[1:][same], "joint velocity by positions")
    most = np.maximum(np.maximum(np.abs(a[1:]), np.abs(a[:-1])), np.abs(changed)) + 2.0
    gap = np.diff(q, axis=0) - dt * (v[1:] + v[:-1]) / 2.0
    require_all((np.abs(gap) <= 1e-9 + dt**2 / 2.0 * most)[usual], gap[usual], times[1:][usual], "position jumps")

    start = np.maximum.accumulate(np.where(np.concatenate([[True], ~same]), np.arange(len(times)), 0))
    lower, upper = np.minimum(LOWER, q[start]), np.maximum(UPPER, q[start])
    beyond = np.maximum(lower - q, q - upper)
    require_all(beyond <= POSITION_SLACK, beyond, times, "position limit")
    z = heights(q)
    depth = np.minimum(at.floor_z, z[start]) - z
    require_all(depth.max(axis=1) <= FLOOR_SLACK_M, depth.max(axis=1), times, "below the floor [m]")

    mass = np.array([one.mass for one in at.sent])
    now, before = torques(q, v, a, mass), torques(q, v, a, lately(times, mass, np.min))
    share = np.minimum(np.abs(now), np.abs(before)) / TORQUES.peak
    require_all(share <= 1.0 + TORQUE_SLACK, share, times, "torque, as a share of what is allowed")
    middle = [(x[1:] + x[:-1])[usual] / 2.0 for x in (q, v)]
    share = np.abs(torques(*middle, changed[usual], lately(times, mass, np.min)[1:][usual])) / TORQUES.peak
    require_all(share <= 1.0 + TORQUE_SLACK, share, times[1:][usual], "torque by velocities, as a share of what is allowed")

    limit = lately(times, np.array([one.tip_speed for one in at.sent]), np.max)
    tip = rigid_body().forward_kinematics(q)
    speed = np.linalg.norm(np.diff(tip, axis=0), axis=1) / dt[:, 0]
    require_all((speed <= limit[1:] * (1.0 + SPEED_SLACK))[same], speed[same], times[1:][same], "tip speed by positions [m/s]")
    speed = tip_speeds(q, v)
    require_all(speed <= limit * (1.0 + SPEED_SLACK), speed, times, "tip speed [m/s]")


def require_motions(at: Session) -> None:
    """Of each motion that was accepted, over all its length, whether it was executed to its end or not."""
    most = max(one.tip_speed for one in at.sent)
    for event in at.events:
        if event.kind is not EventKind.ACCEPTED:
            continue
        path = event.motion.trajectory
        parts = [np.linspace(a, b, max(20, min(400, int((b - a) / 0.01)))) for a, b in zip(path.breaks, path.breaks[1:])]
        times = np.concatenate(parts)
        q, v, _ = path.sample(times)
        speed = tip_speeds(q, v)
        require_all(speed <= most * (1.0 + SPEED_SLACK), speed, times, "tip speed along an accepted motion [m/s]")
        require_all(np.abs(v) <= SPEED * (1.0 + SPEED_SLACK), v, times, "velocity along an accepted motion")
        z = heights(q)
        depth = (np.minimum(at.floor_z, z[0]) - z).max(axis=1)
        require_all(depth <= FLOOR_SLACK_M, depth, times, "below the floor along an accepted motion [m]")


def require_answers(at: Session) -> None:
    """Each goal exactly once, and none that was done short of its end."""
    for number, answers in enumerate(at.answers):
        require(len(answers) == 1, f"goal {number} has {len(answers)} answers: {answers}")
    told: dict[str, list[EventKind]] = {}
    for event in at.events:
        if event.identifier and event.kind.outcome:
            told.setdefault(event.identifier, []).append(event.kind)
            if event.kind is EventKind.DONE:
                require_there(at, int(event.identifier))
    for name, kinds in told.items():
        final = [kind for kind in kinds if kind is not EventKind.ACCEPTED]
        require(len(final) == 1 and kinds[-1] is final[0], f"goal {name} was told {[kind.name for kind in kinds]}")


def require_there(at: Session, number: int) -> None:
    """A goal that was done: its joints were sent where they were to go."""
    wanted = at.wanted[number]
    columns = [NAMES.index(name) for name in wanted.joint_names]
    q = np.array([one.reference.q[columns] for one in at.sent])
    away = np.abs(q - wanted.positions[-1]).max(axis=1).min()
    require(away < REST_SLACK, f"goal {number} was done, and its end never sent: {away:.3f} rad away")


def require_rest(at: Session) -> None:
    """It ended standing, in a pose that it can hold."""
    if at.execution.active and at.sent and at.sent[-1].epoch == at.epoch:
        newest = at.sent[-1].reference
        require(at.execution.phase is Phase.HOLDING, f"it never rests: {at.execution.phase}")
        require(not newest.v.any(), "it holds, but moves")
        share = np.abs(rigid_body(at.mass).gravity(newest.q)) / TORQUES.peak
        require(share.max() <= 1.0 + REST_SLACK, f"{NAMES[share.argmax()]} rests with {share.max():.2f} of the peak torque")


def require_truth(at: Session) -> None:
    """The true tip: no faster than allowed, and where the reference says it is."""
    if at.plant is None or not at.truth.time_s:
        return
    times, tip, due = np.array(at.truth.time_s), np.array(at.truth.tip), np.array(at.tip_due)
    settled = np.isfinite(due).all(axis=1)
    for begin_s, end_s in at.unsettled:
        settled &= (times < begin_s) | (times > end_s)
    away = np.linalg.norm(tip - rigid_body().forward_kinematics(np.nan_to_num(due)), axis=1)
    most = TIP_AWAY_M + TAKEN_AWAY * np.array(at.truth.mass) + SNAPPED_AWAY_M * (times > at.snapped_s)
    require_all((away <= most)[settled], away[settled], times[settled], "true tip away from the reference [m]")
    window = round(TIP_WINDOW_S / FRAME_S)
    if len(tip) > window:
        speed = np.linalg.norm(tip[window:] - tip[:-window], axis=1) / TIP_WINDOW_S
        most = max(one.tip_speed for one in at.sent) + TIP_SPEED_SLACK
        calm = settled[window:] & settled[:-window]
        require_all((speed <= most)[calm], speed[calm], times[window:][calm], "true tip's speed [m/s]")


def execute(steps, **options) -> Session:
    """All steps, then to rest; everything is required of it."""
    at = Session(**options)
    at.run(0.1)
    for step in steps:
        step.do(at)
    at.to_rest()
    at.run(0.3)
    at.events += at.execution.close()
    require_answers(at)
    require_reference(at)
    require_motions(at)
    require_rest(at)
    require_truth(at)
    require(at.execution.guard_stopped == 0 or at.set_back, f"the guard stopped {at.execution.guard_stopped} references")
    return at
