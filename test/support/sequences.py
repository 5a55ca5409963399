"""Sequences of what may be asked of a whole arm, lived through on virtual time down to the bytes, and what must hold of them.

A :class:`Life` of an arm is cut into many sequences: each begins where the arm rests after the one before.  MuJoCo's arm hangs
from the outputs, or none, where only what is sent is looked at.  What is required is read off the bytes on the wire, the outputs
frame by frame and the true tip, and of references by the numbers alone: finite differences, Pinocchio's inverse dynamics and
kinematics, the URDF; nothing of the guards, of checks or of the model that the execution itself has.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos, tip_speeds
from arm_rig import HOME, SERVOS, Rig
from stepped_board import NoPlant

from picker_dynamics.board.protocol import FrameDecoder, SetPoint
from picker_dynamics.board.session import State
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.motion import Phase, Reference
from picker_dynamics.robot.kinematic_tree import link_poses

NAMES, FRAME_S, LEAD_S, TIP_SPEED = picker().joint_names, 0.02, 0.06, 0.25
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

ROUNDED = 2
"""Rounding of two set-points [1/8 us]."""

SLOWEST = 0.9
"""Share of its pace at which the time of set-points may run, while the board's clock is being known."""

TIP_AWAY_M = 0.012
"""The true tip against where the reference says it is [m]: pulses and deadband are 3 mm, the rest is lag of the servos."""

TAKEN_AWAY = 0.05
"""Likewise for each kilogram that was taken on the way [m/kg]: on which side friction bears it is known after the next motion."""

SNAPPED_AWAY_M = 0.004
"""Likewise after a gap of more than a lead [m]."""

TIP_SPEED_SLACK = 0.08
"""True speed of the tip beyond what is allowed [m/s]: the servos' springs swing."""

UNSETTLED_S = 1.0
"""After a start the set-point fades in from where outputs stood: so long the true arm is not where the reference is [s]."""


# -- the arm ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sent:
    """One reference, with what held when it was sent."""

    reference: Reference
    epoch: int
    tip_speed: float
    mass: float


@dataclass
class Truth:
    """Of the plant, after every servo frame; ``due``: where the reference is then, NaN where nobody says."""

    time_s: list[float] = field(default_factory=list)
    tip: list[np.ndarray] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)
    due: list[np.ndarray] = field(default_factory=list)


class Rigid(ArmStateModel):
    """An arm that follows its set-points at once, as far below them as where it rested last."""

    def settle(self, setpoint, start=None):
        held = super().settle(setpoint, start)
        self.below = setpoint - held
        return held

    def step(self, setpoint, dt):
        self.reset(setpoint - self.below)
        return self.q, self.v


class Life(Rig):
    """An arm, and what was seen of it in this sequence.

    Args:
        servos: overlay of the servo map.
        true: MuJoCo's arm hangs from the outputs.

    Attributes:
        frames: the outputs after each servo frame [1/8 us].
        may: whether set-points may go to the board: it was enabled, and not stopped since.
        wire: set-points that did, by their epoch.
        unsettled: times within which the true arm is not where the reference is; ``snapped_s``: of the first stall.
    """

    def __init__(self, servos: str, true: bool, rate_hz: float = 50.0):
        super().__init__(servos, plant=None if true else NoPlant(), dt=PLANT_STEP_S, trajectory_controller__rate_hz=rate_hz)
        self.true, self.cycles, self.floor_z, self.snapped_s = true, round(rate_hz * FRAME_S), 0.0, math.inf
        self.limits = self.board.firmware.config.joints
        self.speed = np.array([one.speed for one in self.limits])
        self.low, self.high = (np.array([getattr(one, end) for one in self.limits]) for end in ("lowest", "highest"))
        self.may, self.frames, self.decoder, self.unsettled, self.began = True, [], FrameDecoder(), [], 0
        self.write, self.board.send = self.board.send, self.hear
        if not true:
            self.outputs.model = Rigid(self.outputs.model.model, SERVOS.model, HOME)
        self.begin()
        self.adopt()

    def begin(self) -> None:
        """Begin a sequence: what was before is forgotten."""
        self.frames, self.events, self.sent, self.answers, self.wanted, self.wire = self.frames[-3:], [], [], [], [], []
        self.truth, self.snapped_s = Truth(), math.inf if self.board.now() > self.snapped_s + UNSETTLED_S else self.snapped_s
        self.unsettled = [one for one in self.unsettled if one[1] > self.board.now()]

    def hear(self, data: bytes) -> None:
        for _, message in self.decoder.feed(data):
            if isinstance(message, SetPoint):
                require(self.may, "a set-point to a board that was stopped, or lost")
                self.wire.append((self.epoch, message))
        self.write(data)

    @property
    def epoch(self) -> int:
        return self.outputs.epoch

    @property
    def mass(self) -> float:
        return self.arm.controller.payload.mass

    @property
    def now_s(self) -> float:
        return self.board.now()

    # -- time ------------------------------------------------------------------------------------------------

    def run(self, seconds: float = FRAME_S) -> None:
        for _ in range(max(1, round(seconds / FRAME_S))):
            for _ in range(self.cycles):
                tick = self.session.cycle().tick
                self.events += tick.events
                if tick.reference is not None and not (self.sent and self.sent[-1].reference is tick.reference):
                    self.sent.append(Sent(tick.reference, self.epoch, self.execution.limits.tip_speed, self.mass))
                self.board.run(FRAME_S / self.cycles)
            self.note()

    def stall(self, seconds: float) -> None:
        self.is_unsettled(seconds)
        self.snapped_s = min(self.snapped_s, self.now_s)
        for _ in range(round(seconds / FRAME_S)):
            self.board.run(FRAME_S)
            self.note()

    def note(self) -> None:
        self.frames.append(self.board.firmware.pulses)
        if self.epoch != self.began:
            self.began = self.epoch
            self.is_unsettled()
        if self.true:
            due = self.execution.sent.at(self.now_s - self.outputs.delay_s)
            self.truth.time_s.append(self.now_s)
            self.truth.tip.append(self.plant.tip.copy())
            self.truth.mass.append(self.mass)
            self.truth.due.append(np.full(5, np.nan) if due is None else due.q)

    def is_unsettled(self, more_s: float = 0.0) -> None:
        self.unsettled.append((self.now_s - LEAD_S, self.now_s + more_s + UNSETTLED_S))

    # -- what is done ----------------------------------------------------------------------------------------

    def ask(self, times, positions, joints=NAMES, fields: str = "qva", later_s: float | None = None, track: str = "arm") -> None:
        """A goal: waypoints (k, m) [rad] of some joints at times [s] from its start; ``later_s`` when that is, from now.

        ``fields``: "q" positions alone, "qv" at rest at each, "qva" with accelerations, "through" with velocities between.
        """
        answers: list = []
        still = np.zeros((len(times), len(joints)))
        v = still.copy()
        if fields == "through" and len(times) > 1:
            v[:-1] = np.gradient(np.array(positions), np.array(times), axis=0)[:-1]
        given = None if fields == "q" else v.tolist(), still.tolist() if fields == "qva" else None
        start_s = None if later_s is None else self.now_s + later_s
        wanted = Goal(joints, list(times), [list(q) for q in positions], *given, start_s=start_s, partial=True, track=track)
        name = str(len(self.answers))
        self.wanted.append(wanted)
        self.answers.append(answers)
        self.session.submit(GoalRequest(lambda: wanted, track, name, tracker=self.arm.tracker, answer=answers.append))

    def begun(self) -> bool:
        """Whether the newest goal is, or was, executed."""
        return (EventKind.ACCEPTED, str(len(self.answers) - 1)) in [(event.kind, event.identifier) for event in self.events]

    def nonsense(self, times, positions, joints=NAMES) -> None:
        """A goal that cannot be: it is refused, and moves nothing."""
        before, rested = self.execution.pose(self.now_s), self.execution.phase is Phase.HOLDING and all(self.answers)
        self.ask(times, positions, joints)
        self.run(2 * FRAME_S)
        require(not self.begun(), "nonsense is executed")
        moved = self.execution.pose(self.now_s) - before
        require(not rested or not moved.any(), f"a refused goal moved the arm by {moved}")

    def stream(self, count: int, swing, hertz=1.0, noise=0.0, step=(0.0,) * 5, late_s=None, rival=False, seed=0) -> None:
        """Samples, one a frame, from where the reference is, a step in the middle; a rival wants the arm meanwhile."""
        rng, centre = np.random.default_rng(seed), self.execution.pose(self.now_s)
        for k in range(count):
            q = centre + np.array(swing) * (1.0 - math.cos(2.0 * math.pi * hertz * FRAME_S * k)) / 2.0
            q = np.clip(q + noise * rng.standard_normal(5) + (np.array(step) if 2 * k >= count else 0.0), LOWER, UPPER).tolist()
            how = {} if late_s is None else {"sent_s": self.now_s - late_s}
            has = self.session.stream(NAMES, q, sender="one", **how) is None and rival
            if has:
                require(self.session.stream(NAMES, q, sender="other") is not None, "two streams at once")
                self.ask((1.0,), (HOME,))
            self.run()
            require(not (has and self.begun()), "a goal took the arm from a stream")

    def cancel(self) -> None:
        self.session.cancel()

    def change(self, **limits) -> None:
        self.session.change(**limits)

    def carry(self, mass: float) -> None:
        """What the tool holds [kg]; refused where the arm could not hold it as it stands."""
        try:
            self.arm.controller.set_payload(mass, (0.0, 0.0, 0.0), self.now_s)
        except PickerError:
            require(self.mass != mass, "a payload that was refused is believed")
            return
        self.is_unsettled()
        if self.true:
            self.plant.attach(mass)

    def stop(self, again: bool = True) -> None:
        """The outputs brake as the board may, then stand, and nobody enables them before the reset."""
        before, begin, self.may = np.array(self.frames[-2:]), len(self.frames), False
        self.session.stop()
        self.run()
        with pytest.raises(PickerError):
            self.session.enable(at_rest_pose=False)
        brake = np.array([one.brake for one in self.limits])
        speed = np.abs(np.diff(before, axis=0)[0]) + brake
        stands = math.ceil((speed / brake).max()) + 2
        self.run((stands + 3) * FRAME_S)
        after = np.array(self.frames[begin:])
        require((np.abs(after - before[-1]) <= speed**2 / (2 * brake) + 2 * speed).all(), "it goes on after the stop")
        require(not np.ptp(after[stands:], axis=0).any(), "it moves on after the stop")
        if again:
            self.go_on()

    def pull(self, seconds: float) -> None:
        self.board.plugged = False
        self.run(seconds)
        self.board.plugged = True
        if self.outputs.state is not State.ACTIVE:
            self.may = False
            self.go_on()

    def press(self, what: str) -> None:
        try:
            self.session.reset() if what == "reset" else self.enable()
        except PickerError:
            pass
        self.run()

    def enable(self) -> None:
        latched = self.outputs.stop_latched
        self.session.enable(at_rest_pose=False)
        require(not latched, "enable undid a stop")
        self.may = True

    def go_on(self) -> None:
        """Connect, wait until it stands and all is answered, reset, enable."""
        if self.outputs.state is State.OFFLINE:
            self.outputs.connect()
        self.run()
        for _ in range(3000):
            stands = len(set(self.frames[-3:])) == 1 and (self.may or not self.board.firmware.state.moves)
            if stands and all(self.answers) and self.execution.phase in (Phase.HOLDING, Phase.INACTIVE):
                break
            self.run()
        self.session.reset()
        if self.outputs.state is not State.ACTIVE:
            self.enable()
        self.run(2 * FRAME_S)

    # -- a sequence ------------------------------------------------------------------------------------------

    def live(self, acts) -> None:
        """All acts, then to rest; everything is required of it."""
        self.begin()
        self.run(2 * FRAME_S)
        for name, *arguments in acts:
            named = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
            getattr(self, name)(*arguments, **named)
            self.require_outputs()
        self.cancel()
        self.change(speed=1.0, tip_speed=TIP_SPEED)
        self.go_on()
        if self.mass:
            self.carry(0.0)
        self.require_outputs()
        require_answers(self)
        require_reference(self)
        require_motions(self)
        require_rest(self)
        require_truth(self)
        require(self.execution.guard_stopped == 0, f"the guard stopped {self.execution.guard_stopped} references")
        require(self.outputs.counts.invalid == 0, "a set-point out of range was asked for")

    def require_outputs(self) -> None:
        frames = np.array(self.frames)
        require((np.abs(np.diff(frames, axis=0)) <= self.speed).all(), "an output jumps")
        require(((frames >= self.low) & (frames <= self.high)).all(), "an output is out of range")
        for (epoch, before), (same, now) in zip(self.wire, self.wire[1:]):
            later_us = (now.time_us - before.time_us) % 2**32
            require(0 < later_us < 2**31, "a set-point for an earlier time")
            step, allowed = np.abs(np.array(now.pulses) - before.pulses), self.speed * later_us / (1e6 * FRAME_S * SLOWEST)
            require(epoch != same or (step <= allowed + ROUNDED).all(), f"set-points jump by {step} in {later_us} us")
        self.frames, self.wire = self.frames[-3:], self.wire[-1:]


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


def require_reference(at: Life) -> None:
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
    usual = same & (dt[:, 0] < 1.25 * FRAME_S)
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


def require_motions(at: Life) -> None:
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


def require_answers(at: Life) -> None:
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


def require_there(at: Life, number: int) -> None:
    """A goal that was done: its joints were sent where they were to go."""
    wanted = at.wanted[number]
    columns = [NAMES.index(name) for name in wanted.joint_names]
    q = np.array([one.reference.q[columns] for one in at.sent])
    away = np.abs(q - wanted.positions[-1]).max(axis=1).min()
    require(away < REST_SLACK, f"goal {number} was done, and its end never sent: {away:.3f} rad away")


def require_rest(at: Life) -> None:
    """It ended standing, in a pose that it can hold."""
    if at.execution.active and at.sent and at.sent[-1].epoch == at.epoch:
        newest = at.sent[-1].reference
        require(at.execution.phase is Phase.HOLDING, f"it never rests: {at.execution.phase}")
        require(not newest.v.any(), "it holds, but moves")
        share = np.abs(rigid_body(at.mass).gravity(newest.q)) / TORQUES.peak
        require(share.max() <= 1.0 + REST_SLACK, f"{NAMES[share.argmax()]} rests with {share.max():.2f} of the peak torque")


def require_truth(at: Life) -> None:
    """The true tip: no faster than allowed, and where the reference says it is."""
    if not at.true or not at.truth.time_s:
        return
    times, tip, due = (np.array(getattr(at.truth, name)) for name in ("time_s", "tip", "due"))
    settled = np.isfinite(due).all(axis=1)
    for begin_s, end_s in at.unsettled:
        settled &= (times < begin_s) | (times > end_s)
    away = np.linalg.norm(tip - rigid_body().forward_kinematics(np.nan_to_num(due)), axis=1)
    most = TIP_AWAY_M + TAKEN_AWAY * np.array(at.truth.mass) + SNAPPED_AWAY_M * (times > at.snapped_s)
    require_all((away <= most)[settled], away[settled], times[settled], "true tip away from the reference [m]")
    speed = np.linalg.norm(tip[2:] - tip[:-2], axis=1) / (2 * FRAME_S)  # over two frames: to a servo a set-point is a step
    limit = max(one.tip_speed for one in at.sent)
    require_all(speed <= limit + TIP_SPEED_SLACK, speed, times[2:], "true tip's speed [m/s]")
