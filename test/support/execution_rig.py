"""Rig of an arm's execution in simulated time: asked as a node asks it, ticked as a node ticks it."""

from collections.abc import Iterable

import numpy as np
from arm_fixtures import picker, rigid_body, servos, tip_speeds

from picker_dynamics.errors import PickerError
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.execution import Execution, Limits, Tick, Timing
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import ArmState, GoalTracker, Outcome, Tolerances, Tracker, Verdict
from picker_dynamics.execution.lease import MAIN_TRACK, Holder, Kind
from picker_dynamics.execution.motion import Motion, Phase, Reference
from picker_dynamics.execution.planning import at_once

NAMES, HOME, ZERO = picker().joint_names, np.array(servos().home), np.zeros(5)
ACCEPTED, DONE, REFUSED = EventKind.ACCEPTED, EventKind.DONE, EventKind.REFUSED
REACH = 9.81 * (0.15 * 0.1 + 0.12 * 0.2725 + 0.08 * 0.385 + 0.05 * 0.425)
"""Shoulder torque of the picker, stretched out: every mass times its distance; 0.98 N·m."""

TIGHT = Tolerances.of([0.05] * 5, [0.01] * 5, 0.01, 0.5)
DECELERATION = 4.0
TIP_SPEED = 0.25


def limits(payload: float = 0.0, **options) -> Limits:
    """The picker's; options as for ``Limits``."""
    return Limits(TorqueLimits.of_servos(servos()), **{"model": rigid_body(payload)} | options)


def moved(**by) -> np.ndarray:
    """Home, but for some joints [rad]."""
    return HOME + [by.get(name, 0.0) for name in NAMES]


def goal(*targets, times=None, names=NAMES, **fields) -> Goal:
    """Through these poses, at rest at each, 2 s for each where ``times`` says nothing else."""
    rest = [[0.0] * len(names)] * len(targets)
    times = times if times is not None else [2.0 * (i + 1) for i in range(len(targets))]
    return Goal(names, times, [list(q) for q in targets], **{"velocities": rest, "accelerations": rest} | fields)


def part(duration: float, track: str = MAIN_TRACK, **positions) -> Goal:
    """A goal of these joints alone [rad]."""
    return goal(positions.values(), times=[duration], names=list(positions), partial=True, track=track)


class Rig:
    """An execution whose clock is the caller's: every reference, every event and every answer, in order.

    Args:
        lead_s: a reference for the time t is asked for at t - ``lead_s``; ``time_s`` is that of the newest reference.
        pose: where the arm is held; None: it is not active.
        guard_may_stop: the guard on the reference may refuse what would be sent; else the test fails where it does.

    Attributes:
        error: by which the base lags behind its reference [rad].
        last: newest tick.
        refused: how many samples of streams were.
        ended: goals that were done or cancelled: (identifier, whether cancelled).
    """

    def __init__(
        self,
        held_to: Limits | None = None,
        description=None,
        *,
        period_s=0.01,
        lead_s=0.0,
        begin_s=0.0,
        pose=HOME,
        monitor_every=1,
        guard_may_stop=False,
        worker=at_once,
    ):
        description = description or picker()
        self.execution = Execution(
            description, held_to or limits(), Timing(1.0 / period_s, lead_s, monitor_every), DECELERATION, worker=worker
        )
        self.period_s, self.lead_s, self.time_s, self.error = period_s, lead_s, begin_s, 0.0
        self.events, self.references, self.last = [], [], None
        self.guard_may_stop, self.refused = guard_may_stop, 0
        self.requests: dict[str, GoalRequest] = {}
        self.answers: dict[str, list[Verdict]] = {}
        self.feedback: dict[str, list[float]] = {}
        if pose is not None:
            self.execution.start(pose)

    # -- time ------------------------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        return self.time_s - self.lead_s

    def at(self, time_s: float) -> Tick:
        """What the tick brings whose reference holds at ``time_s``."""
        self.time_s = time_s
        self.last = self.execution.tick(self.now_s, self.state, lambda: True)
        self.events += self.last.events
        if self.execution.guard_stopped and not self.guard_may_stop:
            raise AssertionError(f"the guard stopped the reference: {[event.text for event in self.events[-3:]]}")
        if self.last.reference is not None:
            if self.references and self.references[-1].time_s == time_s:
                self.references.pop()
            self.references.append(self.last.reference)
        return self.last

    def tick(self, count: int = 1) -> Tick:
        for _ in range(count):
            self.at(round(self.time_s + self.period_s, 9))  # a stamp has nanoseconds
        return self.last

    def run(self, duration_s: float) -> list[Reference]:
        """The references of that time."""
        self.tick(round(duration_s / self.period_s))
        return self.references[-round(duration_s / self.period_s) :]

    def to_rest(self, longest_s: float = 100.0) -> Reference:
        """Run until the arm holds; returns the last reference."""
        ends_s = self.time_s + longest_s
        while self.phase is not Phase.HOLDING:
            assert self.time_s < ends_s, "it never ends"
            self.tick()
        return self.newest

    def state(self) -> ArmState | None:
        """The arm follows perfectly, but for ``error``."""
        held = self.execution.sent.at(self.now_s)
        return None if held is None else ArmState(self.now_s, held.q - self.error * np.eye(len(held.q))[0], held.v)

    @property
    def newest(self) -> Reference:
        return self.references[-1]

    # -- what is asked ---------------------------------------------------------------------------------------

    def send(
        self, goal: Goal | Exception, name: str = "", tolerances: Tolerances | None = None, *, if_free: bool = False
    ) -> GoalRequest:
        """A goal that is looked at in the next tick; with ``tolerances`` it is judged."""
        arm, answers, feedback = self.execution.description, [], []
        self.answers[name], self.feedback[name] = answers, feedback

        def make() -> Goal:
            if isinstance(goal, Exception):
                raise goal
            return goal

        def tracker(motion: Motion) -> Tracker:
            chosen = None if tolerances is None else tolerances.select_joints(motion.joints)
            return Tracker() if chosen is None else GoalTracker(arm.joint_names, arm.position_units, chosen, motion.start_s)

        self.requests[name] = GoalRequest(
            make,
            getattr(goal, "track", MAIN_TRACK),
            name,
            tracker,
            answers.append,
            lambda _error, progress_s, _approaches: feedback.append(progress_s),
            if_free=if_free,
        )
        self.execution.submit(self.requests[name])
        return self.requests[name]

    def submit(self, goal: Goal, name: str = "", tolerances: Tolerances | None = None) -> Motion | None:
        """What a goal becomes that is looked at at once; None: it waits.  Raises why it is refused."""
        self.send(goal, name, tolerances)
        for event in self.at(self.time_s).events:
            if event.identifier == name and event.kind is EventKind.REFUSED:
                raise event.error
            if event.identifier == name and event.kind is EventKind.ACCEPTED:
                return event.motion
        return None

    def cancel(self, name: str | None = None) -> bool:
        """One goal or all; whether anything moved."""
        return self.execution.cancel(self.now_s, None if name is None else self.requests[name])

    def change(self, **limits) -> None:
        """Some of the limits."""
        self.execution.change_some(**limits)

    def set_speed(self, speed: float) -> None:
        self.change(speed=speed)

    def block(self, why: str) -> None:
        self.execution.block(why, self.now_s)

    def lead(self, driver: str, seconds: float) -> None:
        self.execution.lease.grant(Holder(Kind.DRIVER, driver), range(len(HOME)), self.now_s + seconds)

    def push(self, q, arrival_s: float | None = None, sent_s: float | None = None) -> None:
        """One sample of a stream, now or at ``arrival_s``; raises why it was refused."""
        arrival_s = self.now_s if arrival_s is None else arrival_s
        refusal = self.execution.stream(self.execution.description.joint_names, q, arrival_s, sent_s)
        if refusal is not None:
            self.refused += 1
            raise refusal

    def feed(self, path: Iterable) -> None:
        """A stream of samples at the rate of the references, of which none is refused."""
        for q in path:
            self.push(q)
            self.tick()

    def stream(self, path: Iterable, sent=lambda _now_s: None) -> list[PickerError]:
        """One that goes on whatever is said against it, which is returned; ``sent``: what the sender says of when that was."""
        errors = []
        for q in path:
            try:
                self.push(np.asarray(q), sent_s=sent(self.now_s))
            except PickerError as error:
                errors.append(error)
            self.tick()
        return errors

    # -- what came of it -------------------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        return self.execution.phase

    @property
    def ended(self) -> list[tuple[str, bool]]:
        cancelled = {EventKind.DONE: False, EventKind.CANCELLED: True}
        return [(event.identifier, cancelled[event.kind]) for event in self.events if event.kind in cancelled]

    def texts(self, kind: EventKind | None = None) -> list[str]:
        """What was said, or of that what was said so."""
        return [event.text for event in self.events if kind in (None, event.kind)]

    @property
    def problems(self) -> list[str]:
        return self.texts(EventKind.PROBLEM)

    def said(self, words: str) -> bool:
        return any(words in text for text in self.texts())

    @property
    def lease(self) -> str:
        """Who has the arm."""
        return str(self.execution.lease)

    @property
    def holds(self) -> bool:
        """And stands."""
        return self.phase is Phase.HOLDING and not self.newest.v.any()

    def kinds(self, name: str) -> list[EventKind]:
        """What became of a goal, remarks left out."""
        return [event.kind for event in self.events if event.identifier == name and event.kind.outcome]

    def answer(self, name: str) -> Verdict:
        """The only one."""
        assert len(self.answers[name]) == 1, (name, self.answers[name])
        return self.answers[name][0]

    def succeeded(self, name: str) -> bool:
        return self.answer(name).outcome is Outcome.SUCCEEDED

    def __getitem__(self, name: str) -> np.ndarray:
        """(s, n) of all references: ``q``, ``v`` or ``a``."""
        return np.array([getattr(reference, name) for reference in self.references])

    def fastest_tip(self, count: int = 0) -> float:
        """Largest speed of the tool in the last ``count`` references, 0: in all [m/s]."""
        q, v = self["q"][-count:], self["v"][-count:]
        return float(tip_speeds(q, v).max(initial=0.0))

    def require_smooth(self, acceleration: float) -> None:
        """Positions belong to the velocities, and those to accelerations up to that bound [rad/s²]."""
        q, v = self["q"], self["v"]
        np.testing.assert_allclose(
            np.diff(q, axis=0), self.period_s * (v[1:] + v[:-1]) / 2.0, atol=acceleration * self.period_s**2 / 4.0
        )
        assert np.abs(np.diff(v, axis=0)).max() <= acceleration * self.period_s


def executing(wanted: Goal, duration_s: float = 0.0, name: str = "g", **options) -> Rig:
    """A rig that has executed this goal for so long."""
    rig = Rig(**options)
    rig.submit(wanted, name)
    rig.run(duration_s)
    return rig
