"""Approaches: which ends of motions get one, how they come down, what they are held to; and that the true tip is nearer."""

from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos
from execution_rig import HOME, NAMES, Rig, goal, limits, moved, part

from picker_dynamics.estimation.closed_loop import ClosedLoop, paths_between
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.settle_downward import LIMIT_M
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.sim.plant import Plant

SERVO, SHOULDER, ELBOW = servos().model, NAMES.index("shoulder"), NAMES.index("elbow")
"""The same on a supply that does not sag."""
DOWN = moved(shoulder=0.2, elbow=0.2)


def rig(seconds=3.0, **options) -> Rig:
    """One that may approach, whose joints have all come down to ``DOWN`` on a long way: their sides are known."""
    made = Rig(limits(approach=True, **options))
    made.submit(goal(moved(base=0.4, shoulder=0.5, elbow=0.6, wrist=0.4), times=[seconds]), "there")
    made.to_rest()
    made.submit(goal(DOWN, times=[seconds]), "down")
    made.to_rest()
    return made


def band_by_hand(load: float) -> float:
    """Sag after coming up less that after coming down, by the equations of the servo's docstring."""
    gap = SERVO.deadband[0] + np.radians(0.25)

    def sag(side: float) -> float:
        pushed = load + side * 0.0216
        motor = pushed / (1.0 - 0.4 * side * np.sign(pushed))
        return motor / 10.0 + gap * np.sign(motor)

    return sag(1.0) - sag(-1.0)


def test_it_lifts_by_the_band_and_ends_by_lowering():
    at = rig()
    motion = at.submit(goal(moved(shoulder=0.217, elbow=0.2), times=[0.8]), "g")
    q, v, _ = motion.trajectory.sample(np.linspace(0.0, motion.trajectory.duration, 2001))
    end, load = moved(shoulder=0.217, elbow=0.2), rigid_body().gravity(motion.trajectory.end)
    np.testing.assert_allclose(motion.trajectory.end, end, atol=1e-9)
    chosen, idle = list(motion.approach.joints), [j for j in range(5) if j not in motion.approach.joints]
    assert SHOULDER in chosen
    np.testing.assert_allclose((np.sign(load) * (q - end)).max(axis=0)[SHOULDER], abs(band_by_hand(load[SHOULDER])), rtol=0.1)
    lowered = round(2000 * motion.approach.duration_s / motion.trajectory.duration)
    last = v[-lowered:, chosen] * np.sign(load[chosen])
    assert (last <= 1e-9).all() and (last.min(axis=0) < 0.0).all(), "down, all the way"
    assert np.abs(v[-lowered // 2 :, idle]).max(initial=0.0) < 1e-9


@pytest.mark.parametrize("which", ["off", "streams", "a gripper", "nothing moves", "no friction"])
def test_what_is_exempt(which):
    at = rig()
    wanted = goal(moved(shoulder=0.217, elbow=0.2), times=[0.8])
    if which == "off":
        at.execution.change_some(approach=False)
    elif which == "a gripper":
        wanted = part(0.5, "gripper", scissor=HOME[4] - 0.3)
    elif which == "nothing moves":
        at = Rig(limits(approach=True))  # the side is unknown
        wanted = goal(HOME, times=[0.2])
    elif which == "no friction":
        at = Rig(replace(limits(approach=True), torque=TorqueLimits.of_servos(servos(ideal=True))))
    if which == "streams":
        for k in range(30):
            at.push(DOWN - 0.0005 * k * np.eye(5)[SHOULDER])
            at.tick()
        at.to_rest()
        np.testing.assert_allclose(at.newest.q, DOWN - 0.0145 * np.eye(5)[SHOULDER], atol=2e-3)
        assert np.ptp(at["q"][-100:, SHOULDER]) < 0.02
        return
    motion = at.submit(wanted, "g")
    assert motion.approach is None or not motion.approach.joints
    assert motion.duration_s == pytest.approx(wanted.times_s[-1])


def test_where_none_fits_the_motion_runs_without_and_says_so():
    """A tip that may hardly move cannot be lifted by centimetres in 0.4 s."""
    at = rig()
    at.change(tip_speed=0.02)
    at.submit(goal(moved(shoulder=0.217, elbow=0.2), times=[3.0]), "g")
    motion, text = at.events[-1].motion, at.events[-1].text
    assert motion.approach.wanted and not motion.approach.joints and "no approach fits" in text
    assert f"{1e3 * motion.approach.off_m:.1f} mm" in text and motion.approach.off_m > LIMIT_M
    at.to_rest()
    assert at.kinds("g")[-1] is EventKind.DONE


def test_the_true_tip_is_nearer_after_a_step_that_turns_back():
    """The worst of two poses, through the whole chain, with the plant's own friction."""
    errors, checks = {}, torque_validator(rigid_body(), servos())
    rng = np.random.default_rng(4)
    poses = [HOME + rng.uniform(-0.25, 0.25, 5) for _ in range(2)]
    for name, ends in (("without", None), ("with", checks)):
        loop = ClosedLoop(Plant(picker(), servos()), rigid_body(), servos(), ends=ends)
        loop.start(HOME)
        found = []
        for pose in poses:
            for there in (pose - 0.05, pose):
                loop.run(paths_between([loop.reference.end, there], checks)[0])
                loop.hold(0.1)
            found.append(loop.hold(1.5).tip_error[-1])
        errors[name] = max(found)
    assert any(approach.joints for approach in loop.approaches)
    assert errors["with"] < 0.8 * errors["without"] and errors["with"] < 4e-3
