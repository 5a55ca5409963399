"""The guard on the reference: whatever the generator makes, nothing that breaks an invariant is sent, and the arm stands.

The generator is subverted: its own reference is replaced by a candidate while it does not brake.  What was sent is judged by
finite differences and the simulated arm's kinematics.
"""

import re
from dataclasses import replace

import numpy as np
from arm_fixtures import picker, rigid_body, servos, torque_share, validator
from execution_rig import HOME, TIP_SPEED, ZERO, Rig, executing, goal, moved
from pytest import fixture, mark

from picker_dynamics.execution import execution
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.execution.guard import ReferenceGuard
from picker_dynamics.execution.motion import Phase, Reference
from picker_dynamics.execution.planning import LimitExcess
from picker_dynamics.execution.reference_generator import ReferenceGenerator
from picker_dynamics.sim.plant import Plant

BASE, SHOULDER, ELBOW, SCISSOR = 0, 1, 2, 4
BEGIN_S = 0.8


class Liar(ReferenceGenerator):
    """Sends ``lie(reference, t)`` from ``BEGIN_S`` on, t after that [s], unless it brakes."""

    lie = staticmethod(lambda reference, _t: reference)

    def sample(self, time_s):
        reference, finished = super().sample(time_s)
        if time_s < BEGIN_S or self.phase is Phase.STOPPING:
            return reference, finished
        return self.lie(reference, time_s - BEGIN_S), finished


@fixture
def rig(monkeypatch) -> Rig:
    """In a goal that moves base and wrist, for four seconds."""
    monkeypatch.setattr(execution, "ReferenceGenerator", Liar)
    return executing(goal(moved(base=0.4, wrist=0.3), times=[4.0]), BEGIN_S - 0.01, guard_may_stop=True)


def shifted(reference: Reference, joint: int, q=0.0, v=0.0, a=0.0) -> Reference:
    changed = {name: np.array(getattr(reference, name)) for name in "qva"}
    for name, by in (("q", q), ("v", v), ("a", a)):
        changed[name][joint] += by
    return replace(reference, **changed)


def accelerated(joint: int, rate: float, tells: bool = True):
    """A motion of its own, smooth, on top."""
    return lambda r, t: shifted(r, joint, rate * t**3 / 6.0, rate * t**2 / 2.0, rate * t if tells else 0.0)


def shaking(r: Reference, t: float) -> Reference:
    """Five milliradians to and fro at 20 Hz, positions and velocities that belong together, accelerations that say nothing."""
    w = 2.0 * np.pi * 20.0
    return shifted(r, SHOULDER, 0.005 * np.sin(w * t) * min(t / 0.05, 1.0), 0.005 * w * np.cos(w * t) * min(t / 0.05, 1.0))


LIES = {
    "a position is no number": (lambda r, _t: shifted(r, ELBOW, np.nan), r"elbow position is nan"),
    "a velocity is infinite": (lambda r, _t: shifted(r, ELBOW, v=np.inf), r"elbow velocity is inf"),
    "an acceleration is no number": (lambda r, _t: shifted(r, BASE, a=np.nan), r"base acceleration is nan"),
    "time is no number": (lambda r, _t: replace(r, time_s=np.nan), r"its time is nan"),
    "time goes back": (lambda r, _t: replace(r, time_s=r.time_s - 0.5), r"its time is 0\.49\d* s before the last one"),
    "a jump": (lambda r, _t: shifted(r, ELBOW, 0.02), r"elbow would jump by 1\.\d deg in 10 ms .*allowed 0\.\d deg"),
    "a jump of a light joint": (lambda r, _t: shifted(r, SCISSOR, -0.166), r"scissor would move at 95\d\.\d deg/s"),
    "a velocity without motion": (lambda r, _t: shifted(r, ELBOW, v=9.0), r"elbow would move at 51\d\.\d deg/s"),
    "too much acceleration": (lambda r, _t: shifted(r, SHOULDER, a=60.0), r"shoulder would need .* N·m, allowed 0\.86"),
    "a change of velocity that the acceleration hides": (shaking, r"shoulder would need .* N·m for the change of its velocity"),
    "the tip faster and faster": (accelerated(BASE, 4.0), r"the tip would move at 0\.25\d m/s, allowed 0\.250 m/s"),
    "beyond a position limit": (accelerated(SCISSOR, 0.5), r"scissor would be at 68\.8\d+ deg, limit 68\.755 deg"),
}  # fmt: skip


def judge(rig: Rig) -> None:
    """All that was sent obeys, as the simulated arm sees it."""
    plant = Plant(picker(), servos(simulated=False))
    q, v, a, times = rig["q"], rig["v"], rig["a"], np.array([one.time_s for one in rig.references])
    assert all(np.isfinite(x).all() for x in (q, v, a, times)) and (np.diff(times) > 0.0).all()
    assert (q >= picker().lower - 2e-3).all() and (q <= picker().upper + 2e-3).all()
    dt = np.diff(times)[:, None]
    assert (np.abs(np.diff(q, axis=0)) <= picker().velocity * 1.02 * dt).all()
    tip = np.array([plant.tip_at(one) for one in q])
    assert (np.linalg.norm(np.diff(tip, axis=0), axis=1) / dt[:, 0]).max() <= TIP_SPEED * 1.05
    assert torque_share(validator(), q, v, a) <= 1.05
    implied = np.diff(v, axis=0) / dt
    assert torque_share(validator(), q[1:], v[1:], implied) <= 1.08
    assert (np.abs(np.diff(q, axis=0) - dt * (v[1:] + v[:-1]) / 2.0) < 0.55 * dt).all()


@mark.parametrize("name", LIES)
def test_what_breaks_an_invariant_is_not_sent_and_the_arm_comes_to_rest(rig, name, monkeypatch):
    lie, says = LIES[name]
    monkeypatch.setattr(Liar, "lie", staticmethod(lie))
    ends_s = rig.time_s + 6.0
    while not rig.execution.guard_stopped and rig.time_s < ends_s:
        rig.tick()
    monkeypatch.undo()
    rig.to_rest()
    rig.run(0.1)
    judge(rig)
    assert rig.execution.guard_stopped >= 1 and rig.ended == []
    verdict = rig.answer("g")
    assert verdict.outcome is Outcome.ABORTED and re.search(f"the reference was stopped: .*{says}", verdict.text), verdict.text
    assert rig.holds
    assert rig.submit(goal(moved(base=0.1)), "next") is not None, "and goes on with the next goal"
    rig.to_rest()
    assert rig.ended == [("next", False)]


@mark.parametrize("name", ["a jump", "time goes back", "a position is no number", "the tip faster and faster"])
def test_a_generator_that_never_stops_lying_is_never_sent(rig, name, monkeypatch):
    monkeypatch.setattr(Liar, "phase", property(lambda self: Phase.EXECUTING if self.active else Phase.INACTIVE))
    monkeypatch.setattr(Liar, "lie", staticmethod(LIES[name][0]))
    rig.run(1.0)
    judge(rig)
    assert len([event for event in rig.events if event.kind in (EventKind.PROBLEM, EventKind.ABORTED)]) < 10, "no flood"


def test_the_first_reference_of_an_epoch_is_the_pose_that_is_held(monkeypatch):
    monkeypatch.setattr(execution, "ReferenceGenerator", Liar)
    rig = Rig(begin_s=BEGIN_S, guard_may_stop=True)
    monkeypatch.setattr(Liar, "lie", staticmethod(lambda r, _t: shifted(r, BASE, 0.004)))
    rig.tick()
    assert rig.last.reference is None and "base begins 0.2 deg from the pose that is held" in rig.events[-1].text


def test_a_way_to_rest_may_need_what_it_was_known_to_need_and_no_more():
    guard, held = ReferenceGuard(picker()), validator(0.0)
    guard.begin(HOME)
    guard.sent(Reference(0.0, HOME, ZERO, ZERO))
    share = 1.5
    a = np.eye(5)[SHOULDER] * np.linalg.solve(rigid_body().mass_matrix(HOME), share * held.limits.peak)[SHOULDER]
    at_rest = Reference(0.01, HOME + 1e-7, ZERO, a)
    needs = torque_share(held, HOME, ZERO, a)
    assert needs > 1.2 and guard.breach(at_rest, held) is not None
    assert guard.breach(at_rest, held, LimitExcess(torque=needs)) is None
    assert guard.breach(at_rest, held, LimitExcess(torque=0.9 * needs)) is not None
