"""``ScriptedArm``: what a script asks of an arm and has it do, through any session."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import (
    ClosedError,
    GoalRefusedError,
    InfeasibleError,
    InputError,
    JointNamesError,
    LimitError,
    LinkError,
    PickerError,
    RecordingError,
)
from picker_dynamics.execution.guiding import HandGuide
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.execution.waypoints import Waypoint
from picker_dynamics.robot.model import Array, DynamicsModel, as_vector, checked_number, payload_values
from picker_dynamics.robot.units import told
from picker_dynamics.session.session import GoalData, Row, Session
from picker_dynamics.trajectory.trajectory import Trajectory

from . import pick, replay
from .equipment import Equipment, surroundings
from .legs import STILL, Leg, Progress, Replay, refused, unheard
from .pick import APPROACH_M, LIFT_M, MASS_KG, SETTLE_S
from .plan import Plan, planned
from .steps import Follow, Pause, Payload
from .target import Asked, duration_s, not_degrees

STEP_S = 0.01
"""How long it is waited at a time [s]."""


class Move:
    """A motion that was accepted; what ``Arm.move(..., wait=False)`` returns.

    Args:
        session: gives the arm's session, as long as the arm is open.
        goal: name of the goal.

    Attributes:
        duration: of the motion [s].
    """

    def __init__(self, session: Callable[[], Session], goal: str, duration: float):
        self._session, self._goal, self.duration = session, goal, duration
        self._begin_s, self._done = session().now_s, False
        self._error: GoalRefusedError | None = None

    @property
    def progress(self) -> float:
        """Share of the motion that is over, 0 to 1."""
        return 1.0 if self._done else min((self._session().now_s - self._begin_s) / max(self.duration, 1e-9), 0.99)

    def done(self) -> bool:
        """Whether the motion has come to its end; a little time passes.

        Raises:
            GoalAbortedError: it ended in another way, and the arm holds.
        """
        if self._error is not None:  # a session forgets old goals
            raise self._error
        if self._done:
            return True
        session = self._session()
        try:
            if not session.ended(self._goal):
                session.spin(STEP_S)
            self._done = session.ended(self._goal)
        except GoalRefusedError as error:
            self._error = error
            raise
        return self._done

    def over(self) -> bool:
        """Whether the motion has come to an end, whichever; a little time passes."""
        try:
            return self.done()
        except GoalRefusedError:  # or aborted
            return True

    def wait(self, meanwhile: Callable[[], None] = lambda: None) -> float:
        """Wait for the end; returns the duration [s].  Ctrl-C cancels it: the arm decelerates and holds, nothing is latched.

        ``meanwhile`` is called again and again; what it raises cancels the motion, too.
        """
        try:
            while not self.done():
                meanwhile()
        except (GoalRefusedError, LinkError):
            raise
        except BaseException:
            self.cancel()
            raise
        return self.duration

    def cancel(self) -> None:
        """Let the arm decelerate, and wait until it holds; nothing, where this motion has ended: another one may be under way."""
        try:
            over = self.over()
        except LinkError:  # nothing is heard: it may hear all the same
            over = False
        if not over:
            session = self._session()
            session.cancel()
            session.wait(self.over, "the cancelled motion does not end")


SETTABLE = "only payload can be set; all else is an argument of Arm.simulated(), Arm.open(), plan() or move()"


class ScriptedArm:
    """An arm as a script uses it: questions about it, and motions.

    One thread makes motions at a time, a second one is refused; questions, ``cancel``, ``stop`` and ``close`` are for any thread.

    Args:
        known: what it is.
        session: with it; None: only questions.
        pose: (n,) where it stands without a session [rad or m]; default home.
        drives: goals are those of the driver that the session is.

    Attributes:
        description: what its URDF says: joint names, limits, ``n``.
        known, session: as given.
    """

    def __init__(
        self, known: Equipment | None = None, session: Session | None = None, pose: ArrayLike | None = None, drives: bool = False
    ):
        if not isinstance(known, Equipment):
            name = "" if known is None else repr(known)
            text = f"call Arm.simulated({name}), Arm.offline({name}), Arm.open(PORT) or Arm.connect() to get an arm"
            raise InputError(text, "arm", known)
        self.known, self.session, self._drives, self._closed, self._load = known, session, drives, False, 0.0
        self._pose = known.home if pose is None else as_vector("q", pose, known.description.n)
        not_degrees(known.description, self._pose)
        self._move: Move | None = None
        self._streams = False
        self._makes_motions = threading.RLock()
        self._around: tuple[Any, Equipment] = None, known
        self.description = known.description

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; one that arms do not have is an error."""
        known = name.startswith("_") or name in ("description", "known", "session")
        if not known and not hasattr(type(self), name):
            raise AttributeError(f"an arm has no attribute {name!r}: {SETTABLE}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        name = f"Arm {self.description.name}"
        if self._closed:
            return f"<{name}: closed>"
        each = zip(self.joint_names, self.q.tolist(), self.description.position_units)
        joints, tip = ", ".join(f"{joint} {told(at, unit)}" for joint, at, unit in each), ", ".join(f"{x:.3f}" for x in self.tip)
        doing = "offline" if self.session is None else f"{self.session.hardware['state']}, {self.session.controller['phase']}"
        return f"<{name}: {joints}; tip ({tip}) m; {doing}>"

    def close(self) -> None:
        """Let the arm decelerate to a hold, as ``cancel``, and leave it so; nothing can be asked of it any more.

        Raises:
            LinkError: the arm is out of reach, and may go on with its motion.
        """
        try:
            self.cancel()
        finally:
            if not self._closed and self.session is not None:
                self.session.close()
            self._closed = True

    def cancel(self) -> None:
        """Let the arm decelerate to a hold, where it still makes a motion of this script, or streams."""
        if self._move is not None and not self._closed:
            self._move.cancel()
        if self._streams and self.session is not None:
            self._streams = False
            self.session.leave()

    # -- questions -----------------------------------------------------------------------------------------

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, the order of every array."""
        return self.description.joint_names

    @property
    def model(self) -> DynamicsModel:
        """The dynamics with the present payload."""
        self._open()
        return self.known.model(self.payload)

    @property
    def q(self) -> Array:
        """Joint positions, (n,) [rad or m]: the truth in simulation, else as measured, or as modelled where nothing measures."""
        self._open()
        return np.array(self._pose) if self.session is None else self.session.next_state()

    @property
    def held(self) -> Array:
        """Positions at which the joints should be now, (n,) [rad or m]: the reference."""
        self._open()
        return np.array(self._pose) if self.session is None else self.session.reference()

    @property
    def tip(self) -> Array:
        """Position of the tool, (3,), at ``q`` [m], base frame."""
        return self.tip_at(self.q)

    def tip_at(self, q: ArrayLike) -> Array:
        """Tool position (..., 3) [m], base frame, at ``q`` (..., n) [rad or m]."""
        self._open()
        return self.known.model().forward_kinematics(not_degrees(self.description, q))

    @property
    def payload(self) -> float:
        """Payload believed to be on the tool [kg]; set it when a load is taken or put down (a simulated tool then carries it).

        Raises:
            InputError, InfeasibleError: an invalid load, or one that the arm cannot hold where it is.
        """
        self._open()
        return self._load if self.session is None else self.session.payload()

    @payload.setter
    def payload(self, mass: float) -> None:
        mass = checked_number("payload", mass, "kg")
        if self.session is None and not self._closed:
            self._load = payload_values(mass, np.zeros(3))[0]
        else:
            self._moving().set("dynamics", {"payload.mass": mass})

    def gravity_torque(self, q: ArrayLike | None = None) -> Array:
        """Gravity torques, (..., n), which hold the arm [N·m or N], payload included, at ``q`` (..., n), by default here.

        A running graph is asked for its payload at each call: a loop there takes ``model`` once.
        """
        return self.model.gravity(self.q if q is None else not_degrees(self.description, q))

    def jacobian(self, q: ArrayLike | None = None) -> Array:
        """Jacobian of the tip, (..., 3, n) [m/rad or 1], base frame, at ``q`` (..., n), by default here."""
        return self.model.jacobian(self.q if q is None else not_degrees(self.description, q))

    def mass_matrix(self, q: ArrayLike | None = None) -> Array:
        """Mass matrix, (..., n, n), payload included, at ``q`` (..., n), by default here."""
        return self.model.mass_matrix(self.q if q is None else not_degrees(self.description, q))

    def ik(self, tip: Sequence[float], *, pitch: float | None = None, direction: ArrayLike | None = None) -> Array:
        """Joint positions (n,) with the tip at ``tip`` (3,) [m], near those that are held; arguments and errors as ``move``."""
        return Asked(None, tip, pitch, direction).target(self.description, self._within(self.held))

    def plan(
        self,
        *,
        q: ArrayLike | None = None,
        tip: Sequence[float] | None = None,
        pitch: float | None = None,
        direction: ArrayLike | None = None,
        unit: str = "rad",
        duration: float | None = None,
        straight: bool = False,
        via: Sequence[Waypoint | Sequence[float]] = (),
        **joints: float,
    ) -> Plan:
        """Plan of a motion from the pose held: whether it may be made, and at what cost; arguments as ``move``, nothing moves."""
        return self.planned(Asked(q, tip, pitch, direction, unit, duration, straight, via, joints))

    def planned(self, asked: Asked) -> Plan:
        """Plan of a motion from the pose held; errors as ``move``."""
        held, validator = self._within(self.held), self._validator()
        return planned(validator, asked.motion(self.description, held, validator))

    # -- motions -------------------------------------------------------------------------------------------

    def move(
        self,
        *,
        q: ArrayLike | None = None,
        tip: Sequence[float] | None = None,
        pitch: float | None = None,
        direction: ArrayLike | None = None,
        unit: str = "rad",
        duration: float | None = None,
        straight: bool = False,
        via: Sequence[Waypoint | Sequence[float]] = (),
        wait: bool = True,
        **joints: float,
    ) -> Move:
        """Move and wait until the arm is there; what is not named holds.

        Args:
            q: (n,) all joints [rad or m]; or
            tip: (3,) where the tool shall be [m], base frame, with the hand at ``pitch`` [rad], nearest to level by default, or
                pointing in ``direction`` (3,), base frame; or
            joints: by name, ``shoulder=0.5``; in ``unit`` (``rad`` or ``deg``) where they turn, in metres where they slide.
            duration: at least this long [s], by default 0.8 s or 1 s for each metre of the tip's way; it is slowed to what tip
                speed and torque allow.
            straight: the tool goes to ``tip`` on a straight line, its hand at the pitch that it has unless another is given; or
                any where the line cannot be followed with that one.
            via: places on the way, ``(x, y, z)``, ``Waypoint(tip=(x, y, z), blend=0.02)`` or ``Waypoint(q=...)``; the arm stops
                at those without ``blend``.
            wait: False returns at once; look at ``done()`` or ``wait()`` of what is returned.

        Raises:
            GoalRefusedError: it may not be made, with the reason, or it moves for the move before, or for somebody else.
            GoalAbortedError: it did not come to its end; the arm holds.
            InputError: no target, or an invalid one; UnreachableError: no pose has the tip there.
            PickerError: offline; ClosedError: closed.
        """
        with self._moves_alone() as session:
            return self._begun(session, self.goal(Asked(q, tip, pitch, direction, unit, duration, straight, via, joints)), wait)

    def goal(self, asked: Asked) -> GoalData:
        """The goal that a motion from the pose held becomes; errors as ``move``."""
        session, arm, held = self._moving(), self.description, self._within(self.held)
        if asked.dense:
            try:
                return session.message_along(asked.motion(arm, held, self._validator()))
            except (LimitError, InfeasibleError) as why:
                raise GoalRefusedError(f"refused: {why}", why.subject, why.value, why.limit) from why
        target = asked.target(arm, held)
        return session.message(asked.seconds(arm, held, target), target)

    def follow(self, trajectory: Trajectory, *, wait: bool = True) -> Move:
        """Follow a trajectory of all joints that begins at rest where the arm is held, and ends at rest; errors as ``move``."""
        if trajectory.joint_names != self.joint_names:
            raise JointNamesError(f"a trajectory of {', '.join(trajectory.joint_names)} for {', '.join(self.joint_names)}")
        with self._moves_alone() as session:
            return self._begun(session, session.message_along(trajectory), wait)

    def stream(self, q: ArrayLike, *, speed: float = 1.0) -> Array:
        """Have all joints go to the pose ``q`` (n,) [rad or m], for 0.2 s: say it again and again, of a policy or a leader arm.

        However far away it is, nothing jumps: the reference goes there as fast as all limits allow, and where one keeps it back
        it waits.  Who streams drives the arm: goals of others are refused until ``cancel`` or ``close``, or 0.1 s of silence.

        Args:
            speed: share of the largest speed.

        Returns:
            The reference now, (n,) [rad or m]: what the arm is sent to.

        Raises:
            InputError: a pose that is not finite, or of another arm.
            GoalRefusedError: somebody else moves the arm, or it may not go on: it holds, until nothing is streamed for 0.3 s.
            LinkError: the arm is not active.
        """
        pose = as_vector("q", q, self.description.n).tolist()
        return self._jog({"pose": pose, "speed": checked_number("speed", speed, above=0.0, most=1.0)})

    def _jog(self, how: dict[str, Any]) -> Array:
        session, held, self._streams = self._moving(), self.held, True
        session.take_arm()
        if session.refusal:
            why = session.refusal
            session.jog({})
            raise GoalRefusedError(why)
        session.jog(how)
        return held

    def guide(self, seconds: float | None = None, meanwhile: Callable[[], object] = lambda: None) -> Array:
        """Let a hand move the arm, which bears itself and stays where the hand leaves it; errors as ``stream``.

        Args:
            seconds: for how long; None: until Ctrl-C, or until ``meanwhile`` raises.
            meanwhile: called again and again.

        Returns:
            The pose where it holds then, (n,) [rad or m].

        Raises:
            InputError: an arm that does not measure its joints.
        """
        session = self._moving()
        ends_s = math.inf if seconds is None else session.now_s + checked_number("seconds", seconds, above=0.0)
        hand = HandGuide(self.description.position_units, session.hardware.get("provenance"))
        try:
            while session.now_s < ends_s:
                pose = hand.target(np.array(session.state), self.held, session.seen_s)
                self._jog({"pose": pose.tolist(), "by_hand": True})
                session.spin(STEP_S)
                meanwhile()
        finally:
            self.cancel()
        session.wait_holding()
        return self.held

    def replay(
        self,
        name: str | Path,
        *,
        loop: int = 1,
        speed: float = 1.0,
        first: int | str = 1,
        check: bool = False,
        progress: Progress = unheard,
    ) -> Replay:
        """Make a taught motion (``picker teach``), or that of a recording, again; offline it is only checked.

        All of it is checked before anything moves, from the pose that is held.

        Args:
            name: NAME.yaml of a taught motion, with or without the ending, or FILE.mcap.
            loop: how many times.
            speed: times as fast as taught; limits are kept all the same.
            first: step to begin with, by its number or its name.
            check: only look whether it may be made from here, and at what cost.
            progress: called with each leg, again and again, and the share of it that is over.

        Raises:
            GoalRefusedError, UnreachableError, LimitError: a step may not be made: which, and why; nothing moves.
            GoalAbortedError: a step came to no end; the arm holds.
            InputError, RecordingError: a file of another arm, or that cannot be used.
        """
        how: dict[str, Any] = {"loop": loop, "speed": speed, "first": first}
        return self._made(lambda: replay.checked(self.holds, name, *self._start(), **how), check, progress)

    def play(self, found: Replay, progress: Progress = unheard) -> None:
        """Make legs that were checked; Ctrl-C lets the arm decelerate and hold.

        Args:
            progress: called with each leg, again and again, and the share of it that is over.

        Raises:
            GoalRefusedError, GoalAbortedError, InputError: a leg came to no end: which, and why; the arm holds.
        """
        with self._moves_alone():
            for leg in found.legs:
                progress(leg, 0.0)
                try:
                    self._play_one(leg, progress)
                except (GoalRefusedError, InfeasibleError, InputError) as error:
                    raise refused(f"step {leg.number} ({leg.name})", error) from error

    def pick(
        self,
        tip: Sequence[float],
        *,
        pitch: float | None = None,
        mass: float = MASS_KG,
        approach: float = APPROACH_M,
        lift: float = LIFT_M,
        opened: float | None = None,
        closed: float | None = None,
        settle: float = SETTLE_S,
        check: bool = False,
        progress: Progress = unheard,
    ) -> Replay:
        """Pick what is at ``tip`` (3,) [m], base frame: from a clear pose straight in, close, straight out with the payload.

        All of it is checked before anything moves, so that what cannot be lifted out again is not touched; offline it is only
        checked.

        Args:
            pitch, mass, approach, lift, opened, closed, settle: as of ``scripting.pick.Handling``.
            check: only look whether it may be made from here, and at what cost.
            progress: called with each leg, again and again, and the share of it that is over.

        Raises:
            GoalRefusedError: a leg may not be made: which, and why; nothing moves.  UnreachableError: the arm does not get there.
            GoalAbortedError: a leg came to no end; the arm holds.
            InputError: an arm without a gripper, or invalid numbers.
        """
        how = pick.Handling(tip, pitch, mass, approach, lift, opened, closed, settle)
        return self._made(lambda: pick.pick(self.holds, how, *self._start()), check, progress)

    def place(
        self,
        tip: Sequence[float],
        *,
        pitch: float | None = None,
        lift: float = LIFT_M,
        opened: float | None = None,
        settle: float = SETTLE_S,
        check: bool = False,
        progress: Progress = unheard,
    ) -> Replay:
        """Put down at ``tip`` what the arm carries: from above straight down, open, straight up without payload; as ``pick``."""
        how = pick.Handling(tip, pitch, lift=lift, opened=opened, settle=settle)
        return self._made(lambda: pick.place(self.holds, how, *self._start()), check, progress)

    def grip(self, at: float, *, wait: bool = True) -> Move:
        """Move the gripper's joint to ``at`` [rad or m], or until what it grips stops it; errors as ``move``."""
        self.known.require_gripper()
        with self._moves_alone() as session:
            return self._begun(session, GoalData("grip", {"position": checked_number("at", at)}), wait)

    def open_gripper(self, *, wait: bool = True) -> Move:
        """Open the gripper as far as it goes; errors as ``move``."""
        return self.grip(self.known.grips()[0], wait=wait)

    def close_gripper(self, *, wait: bool = True) -> Move:
        """Close the gripper until it touches what it holds, or itself; errors as ``move``."""
        return self.grip(self.known.grips()[1], wait=wait)

    def home(self, *, wait: bool = True) -> Move:
        """Move to the home pose, of the servo map or of config/arms.yaml."""
        return self.move(q=self.known.home, wait=wait)

    def park(self, *, wait: bool = True) -> Move:
        """Move to the rest pose, where the arm may be switched off; home, where joints are measured."""
        return self.move(q=self.known.rest, wait=wait)

    def wait(self, seconds: float, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Let time pass: simulated time passes in here, in ``move`` and in ``Move.wait``, and nowhere else.

        ``meanwhile`` is called again and again.
        """
        session, ends_s = self._moving(), self._moving().now_s + duration_s(seconds, "seconds", 0.0)
        while (left_s := ends_s - session.now_s) > 1e-9:
            meanwhile()
            session.spin(min(left_s, STEP_S))

    @contextmanager
    def record(self) -> Iterator[Recorded]:
        """Record what the arm does within: ``with arm.record() as recorded: arm.move(...)``."""
        recorded = Recorded(self.known)
        with self._moving().listening(recorded.rows.extend):
            yield recorded

    # -- how -----------------------------------------------------------------------------------------------

    def _open(self) -> None:
        if self._closed:
            raise ClosedError("this arm was closed: make another one")

    def _moving(self) -> Session:
        self._open()
        if self.session is None:
            raise PickerError(
                "this arm is offline: it answers questions, and does not move; use Arm.simulated() or Arm.connect()"
            )
        return self.session

    @contextmanager
    def _moves_alone(self) -> Iterator[Session]:
        """Within, this thread makes a motion, no other one, and the arm stands at the beginning.

        All of it is asked for at the beginning: nothing of it begins after a stop, reset or enable by anyone.
        """
        session = self._moving()
        if not self._makes_motions.acquire(blocking=False):
            raise GoalRefusedError("refused: another thread or task moves this arm: let it end, or cancel() its motion")
        try:
            if self._move is not None and not self._move.over():
                raise GoalRefusedError("refused: the arm still moves: wait() for the move before, or cancel() it")
            with session.asking():
                yield session
        finally:
            self._makes_motions.release()

    def _begun(self, session: Session, goal: GoalData, wait: bool) -> Move:
        with session.cancelling():
            self._move = Move(self._moving, *session.begin(goal, self._drives))
        if wait:
            self._move.wait()
        return self._move

    def _within(self, q: Array) -> Array:
        """What is a hair beyond a limit, a modelled pose for one, counts as at it."""
        return np.clip(q, self.description.lower, self.description.upper)

    def _tip_speed(self) -> float | None:
        return None if self.session is None else self.session.tip_speed()

    def _start(self) -> tuple[Array, float, float | None]:
        """Pose, payload and tip speed [m/s] with which motions begin."""
        return self._within(self.held), self.payload, self._tip_speed()

    @property
    def holds(self) -> Equipment:
        """The arm with what its motions are kept clear of."""
        self._open()
        if self.session is not None:
            told = self.session.call("surroundings")
            if told != self._around[0]:
                self._around = told, surroundings(self.known, told)
        return self._around[1]

    def _validator(self) -> MotionValidator:
        return self.holds.validator(self.payload, self._tip_speed())

    def _made(self, checked: Callable[[], Replay], check: bool, progress: Progress) -> Replay:
        with nullcontext() if self.session is None else self.session.asking():
            found = checked()
            if self.session is not None and not check:
                self.play(found, progress)
        return found

    def _play_one(self, leg: Leg, progress: Progress) -> None:
        if isinstance(leg.step, Pause):
            if leg.step.seconds:
                self.wait(leg.step.seconds, lambda: progress(leg, 0.0))
        elif isinstance(leg.step, Payload):
            self.payload = leg.step.mass
        else:
            if not isinstance(leg.step, Follow) and leg.step.grips:
                move = self.grip(leg.plan.target[self.known.require_gripper()], wait=False)
            elif leg.path is None:
                move = self.move(q=leg.plan.target, duration=leg.plan.duration, wait=False)
            else:
                if np.abs(self.held - leg.path.start).max() > STILL:  # commands paused, and began anew where the arm was held
                    self.move(q=leg.path.start)
                move = self.follow(leg.path, wait=False)
            move.wait(lambda: progress(leg, move.progress))


class Recorded:
    """States of an arm, as they came; filled while the arm moves or waits within ``with arm.record() as ...``.

    Attributes:
        rows: the states.
    """

    def __init__(self, arm: Equipment):
        self._arm, self.rows = arm, list[Row]()

    @property
    def arrays(self) -> dict[str, Array]:
        """``t`` (s,) from the first state on [s]; ``q``, ``q_ref`` (s, n) [rad or m]; ``torque`` (s, n) [N·m or N], NaN where
        it is not known; ``tip``, ``tip_ref`` (s, 3) [m], base frame, computed from them.

        Raises:
            RecordingError: nothing was recorded.
        """
        known = {row[0]: row for row in self.rows if row[1] is not None and row[4] is not None}
        if not known:
            raise RecordingError("nothing was recorded: the arm neither moved nor waited meanwhile")
        unknown = np.full(self._arm.description.n, np.nan)
        t, q, q_ref = (np.array([row[column] for row in known.values()]) for column in (0, 1, 4))
        torque = [next((one for one in (row[3], row[5]) if one is not None), unknown) for row in known.values()]
        tip = self._arm.model().forward_kinematics
        return {"t": t - t[0], "q": q, "q_ref": q_ref, "torque": np.array(torque), "tip": tip(q), "tip_ref": tip(q_ref)}
