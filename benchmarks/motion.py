"""Straight lines and via points: how straight, how fast, how soon planned, how well followed: ``python -m benchmarks.motion``.

Lines of 0.1 to 0.3 m from seeded poses, those that may be made.  The reference is looked at every millisecond.  The truth is the
tip of the simulated arm with typical servos, moved through the whole chain as in ``benchmarks.hold``; where it ends is read 2.5 s
after.  The shortest time is TOPP-RA's (``pip install toppra``) for the same path and limits, acceleration included, not smoothed,
with nothing kept back; without toppra it is left out.  Times of planning are this thread's, whatever else the machine does.
"""

from __future__ import annotations

import json
import time

import numpy as np

from benchmarks import collision, pick
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import PickerError
from picker_dynamics.estimation.closed_loop import SETTLE_S, ClosedLoop
from picker_dynamics.execution.waypoints import (
    JOINT_ACCELERATION,
    SPEED_SHARE,
    STAND_S,
    TIP_ACCELERATION,
    WINDOW_S,
    Waypoint,
    motion_through,
)
from picker_dynamics.resources import resource
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.scripting.equipment import equipment
from picker_dynamics.trajectory.straight_line import off_line

SEED, SHORTEST_M, LONGEST_M, TIMED_M = 1, 0.1, 0.3, 0.3
REACH_M, HEIGHT_M = 0.1, 0.02
"""Lines begin and end at least so far from the base axis, and so high."""

RAISED = 1.0
"""Tip speed limit [m/s] at which torque and acceleration decide."""

START_S = 0.8
"""How long an arm that was just enabled is held before it moves [s]."""


class Lines:
    """Seeded lines that the arm may make."""

    def __init__(self) -> None:
        self.equipment = equipment(overlay=resource("config/servos.sim.yaml"))
        self.arm, self.checks = self.equipment.description, self.equipment.validator()
        self.kinematics, self.rng = ChainKinematics(self.arm), np.random.default_rng(SEED)

    def drawn(self, length_m: float | None = None):
        """Start pose, begin and end of a line, and its motion; None: it may not be made."""
        q = self.rng.uniform(self.arm.lower, self.arm.upper)
        begin, way = self.kinematics.forward(q), self.rng.normal(size=3)
        length = self.rng.uniform(SHORTEST_M, LONGEST_M)
        end = begin + (length_m or length) * way / np.linalg.norm(way)
        if min(begin[2], end[2]) < HEIGHT_M or min(np.hypot(*begin[:2]), np.hypot(*end[:2])) < REACH_M:
            return None
        try:
            self.checks.require_holdable(q)
            return q, begin, end, self.motion(q, end)
        except PickerError:
            return None

    def motion(self, q, end, tip_speed: float | None = None, acceleration: float = TIP_ACCELERATION):
        checks = self.checks if tip_speed is None else self.equipment.validator(tip_speed=tip_speed)
        return motion_through(q, [Waypoint(end, straight=True)], checks, self.arm, acceleration)

    def some(self, count: int, length_m: float | None = None) -> list:
        found: list = []
        while len(found) < count:
            line = self.drawn(length_m)
            found += [] if line is None else [line]
        return found


def shortest_s(lines: Lines, motion, tip_speed: float, acceleration: float) -> float:
    """TOPP-RA's time [s] along the path of a motion, through points of it, under the limits of the arm's validator.

    Raises:
        ImportError: toppra is not installed.
    """
    import toppra
    from toppra import algorithm, constraint

    toppra.setup_logging("ERROR")
    times_s = np.linspace(0.0, motion.duration, 4000)
    tips = lines.kinematics.forward(motion.sample(times_s)[0])
    way = np.linalg.norm(tips - tips[0], axis=1)
    s = np.linspace(0.0, way[-1], 201)
    moved = np.flatnonzero(np.diff(way, prepend=-1.0) > 1e-9)
    path = toppra.SplineInterpolator(s, motion.sample(np.interp(s, way[moved], times_s[moved]))[0])
    model, torques = lines.checks.model, lines.checks.limits
    servos = lines.equipment.servos
    fastest = np.minimum(lines.arm.velocity, SPEED_SHARE * servos.setpoint_speed)

    def speeds(place):
        slope = path(place, 1)
        limit, first = fastest.copy(), int(np.abs(slope).argmax())
        tool = float(np.linalg.norm(model.jacobian(path(place)) @ slope))
        limit[first] = min(limit[first], tip_speed / tool * abs(slope[first]))
        return np.stack([-limit, limit], axis=1)

    class Acceleration(constraint.LinearConstraint):
        """|d²s/dt²| within the stated one; s is the way of the tip."""

        def compute_constraint_params(self, _path, gridpoints):
            bound = np.full((len(gridpoints), 2), (-acceleration, acceleration))
            return None, None, None, None, None, bound, None

    most = torques.most(torques.peak_share * torques.supply(model.gravity(motion.sample(times_s)[0])).min())
    rows = [
        constraint.JointVelocityConstraintVarying(speeds),
        constraint.JointTorqueConstraint(model.inverse_dynamics, np.stack([-most, most], axis=1), model.coulomb),
        constraint.JointAccelerationConstraint(np.full((lines.arm.n, 2), (-JOINT_ACCELERATION, JOINT_ACCELERATION))),
    ]
    if np.isfinite(acceleration):
        rows.append(Acceleration())
    solver = algorithm.TOPPRA(rows, path, gridpoints=s, parametrizer="ParametrizeConstAccel")
    _, speed, _ = solver.compute_parameterization(0.0, 0.0)
    return float((2.0 * np.diff(s) / (speed[:-1] + speed[1:])).sum())


def compared(lines: Lines, found: list, tip_speed: float, acceleration: float) -> dict | None:
    """Ratio of the time of each motion, but for its stand at the end, to the shortest; None: there is no toppra."""
    ratios = []
    for q, _, end, _ in found:
        try:
            motion = lines.motion(q, end, tip_speed, acceleration)
            ratios.append((motion.duration - STAND_S) / shortest_s(lines, motion, tip_speed, acceleration))
        except ImportError:
            return None
        except PickerError:
            continue
    return {"lines": len(ratios), "median": round(float(np.median(ratios)), 3), "max": round(max(ratios), 3)}


def straightness(lines: Lines, found: list) -> float:
    """How far the reference is off its line at the most [mm]."""
    worst = 0.0
    for _, begin, end, motion in found:
        points = lines.kinematics.forward(motion.sample(np.arange(0.0, motion.duration, 1e-3))[0])
        worst = max(worst, float(off_line(points, begin, end).max()))
    return 1e3 * worst


def truth(lines: Lines, found: list) -> dict:
    """Errors of the true tip on the way and where it ends [mm], each line the first motion after the arm was enabled."""
    from picker_dynamics.sim.plant import Plant

    servos = lines.equipment.servos
    model, way, ends = RigidBody(lines.arm, servos.armature), list[np.ndarray](), []
    for q, _, _, motion in found:
        loop = ClosedLoop(Plant(lines.arm, servos), model, servos)
        loop.start(q)
        loop.hold(START_S)
        way.append(loop.run(motion).tip_error)
        ends.append(loop.hold(SETTLE_S).tip_error[-1])
    errors = 1e3 * np.concatenate(way)
    return {
        "way_mm": {"p95": round(float(np.quantile(errors, 0.95)), 2), "max": round(float(errors.max()), 2)},
        "end_mm": {"median": round(1e3 * float(np.median(ends)), 2), "max": round(1e3 * max(ends), 2)},
    }


def planning_ms(lines: Lines, count: int) -> dict:
    """Time to plan a line of ``TIMED_M`` [ms], those that may be made."""
    taken = []
    for q, _, end, _ in lines.some(count, TIMED_M):
        begin_s = time.thread_time()
        lines.motion(q, end)
        taken.append(1e3 * (time.thread_time() - begin_s))
    return {"p50": round(float(np.median(taken)), 1), "p95": round(float(np.quantile(taken, 0.95)), 1)}


def run(count: int = 30, collisions: dict | None = None, picks: dict | None = None, tell=lambda _text: None) -> dict:
    """All figures; JSON-able.

    Args:
        count: lines.
        collisions, picks: arguments of ``collision.run`` and ``pick.run``.
    """
    started = time.perf_counter()
    lines = Lines()
    found = lines.some(count)
    usual = compared(lines, found, lines.checks.tip_speed, TIP_ACCELERATION)
    return {
        "lines": count,
        "tip_acceleration_m_s2": TIP_ACCELERATION,
        "joint_acceleration_rad_s2": JOINT_ACCELERATION,
        "window_s": WINDOW_S,
        "reference_off_line_mm": round(straightness(lines, found), 3),
        "typical": truth(lines, found),
        "largest_time_over_shortest": None if usual is None else usual["max"],
        "time_over_shortest": {
            "as_it_is": usual,
            "tip_speed_raised": compared(lines, found, RAISED, TIP_ACCELERATION),
            "tip_speed_raised_torque_alone": compared(lines, found, RAISED, np.inf),
        },
        "planning_ms": planning_ms(lines, count),
        "collision": collision.run(**(collisions or {}), tell=tell),
        "pick": pick.run(**(picks or {}), tell=tell),
        "seconds": round(time.perf_counter() - started, 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(tell=print), indent=2))
