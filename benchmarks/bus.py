"""An SO-101 on its simulated bus, on virtual time: ``python -m benchmarks.bus``.

Where the true tip rests over drawn poses: servos alone, compensated, and with the integral action at rest; all figures known, and
the true arm's off by up to 15 % (friction of the gears 0.2 to 0.5).  How soon that arm notices 5 N against its moving tip, and
how often it stops in motions where nothing is.  What a cycle of six servos costs, everything read; and
cycles with 0.1 % of the replies damaged.  P gain 16, 7.4 V, typical friction and play.
"""

from __future__ import annotations

import json
import time

import numpy as np

from picker_dynamics import Arm
from picker_dynamics.errors import GoalAbortedError, PickerError
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.sim.bus_in_memory import noise

POSES, SEED, SPREAD_RAD, SETTLES_S, CORRUPT = 16, 1, 0.6, 3.0, 1e-3
WRONG, ARM = 0.15, 0
"""Bound of the true arm's errors, and what they are drawn from."""

PUSH_N, MOVES_M, RECOVERS_S = 5.0, 5e-4, 3.0
"""Push against the tip [N], which moves by so much in 20 ms [m]; time until it holds again [s]."""

DRAWN = 4
"""So many times more poses are drawn at most."""

GOAL_EVERY = 200
"""Cycles between two goals."""

ABOVE_M = 0.03
"""Tips of the poses are at least so high above the table [m]."""


def run(poses: int = POSES, cycles: int = 20_000, motions: int = 3000) -> dict:
    """Tip errors at rest [mm], contacts, this thread's time for a cycle [ms], and faults over cycles with damaged replies."""
    rests = {
        f"{name}{'_wrong' if error else ''}": _rests(mode, poses, integral, error)
        for error in (0.0, WRONG)
        for name, mode, integral in (("none", "none", False), ("full", "full", False), ("integral", "full", True))
    }
    return {
        "servo": "typical",
        "p_gain": 16,
        "volt": 7.4,
        **{f"tip_{mode}_mm": one for mode, one in rests.items()},
        "contact": _contact(motions, poses),
        **_cycles(cycles),
    }


def _rests(compensation: str, count: int, integral: bool, error: float) -> dict:
    rng, errors = np.random.default_rng(SEED), list[float]()
    with Arm.simulated("so101", compensation=compensation, plant_error=error, seed=ARM, real_time=False) as arm:
        arm.session.set("dynamics", {"integral": integral})
        plant, home = arm.session.plant, np.array(arm.session.arm.servos.home)
        for _ in range(DRAWN * count):
            pose = home + rng.uniform(-SPREAD_RAD, SPREAD_RAD, len(home)) * [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
            if plant.tip_at(pose)[2] < ABOVE_M:
                continue
            try:
                arm.move(q=pose)
            except GoalAbortedError:  # it is there, and sags beyond the goal's tolerance
                assert compensation == "none"
            except PickerError:  # not to be held, or no way there: another pose
                continue
            arm.wait(SETTLES_S)
            errors.append(1e3 * float(np.linalg.norm(plant.tip - plant.tip_at(pose))))
            if len(errors) == count:
                break
    return {"median": round(float(np.median(errors)), 2), "worst": round(max(errors), 2)}


def _contact(motions: int, pushes: int) -> dict:
    """Of drawn motions, the last ones with a push against the tip; motions come into each other."""
    rng, noticed, stops, pushed, free_s = np.random.default_rng(SEED), list[float](), 0, 0, 0.0
    with Arm.simulated("so101", plant_error=WRONG, seed=ARM, real_time=False) as arm:
        running, plant = arm.session.arm, arm.session.plant
        loop, bus, names, home = running.session, running.clock, running.description.joint_names, np.array(running.servos.home)

        def meets(seconds: float) -> bool:
            """Whether the arm stops for a contact within so many seconds, which end there."""
            until_s = bus.now() + seconds
            while bus.now() < until_s:
                command = loop.cycle().command
                bus.run(running.period_s)
                if command is not None and command.contact:
                    return True
            return False

        for number in range(motions + pushes):
            pose = home + rng.uniform(-SPREAD_RAD, SPREAD_RAD, len(home)) * [1.5, 1.0, 1.0, 1.0, 1.5, 0.3]
            made, begins_s = Goal(names, [rng.uniform(0.3, 1.5) if number < motions else 2.0], [pose.tolist()]), bus.now()
            loop.submit(GoalRequest(lambda made=made: made))
            stops += meets(0.7)
            before = plant.tip
            met = meets(0.02)
            way = plant.tip - before
            if number < motions:
                stops += met or meets(rng.uniform(0.0, 0.8))
                free_s += bus.now() - begins_s
            elif np.linalg.norm(way) > MOVES_M:
                plant.push(-PUSH_N * way / np.linalg.norm(way))
                pushed_s = bus.now()
                pushed += 1
                if meets(1.0):
                    noticed.append(1e3 * (bus.now() - pushed_s))
                plant.push(np.zeros(3))
                until_s = bus.now() + RECOVERS_S
                while bus.now() < until_s:
                    meets(until_s - bus.now())  # until it stands the loop says so again
    return {
        "noticed_ms": {"median": round(float(np.median(noticed)), 1), "worst": round(max(noticed), 1)},
        "noticed": len(noticed),
        "pushed": pushed,
        "free_s": round(free_s),
        "false_stops": stops,
    }


def _cycles(count: int) -> dict:
    """Of an arm that moves to and fro."""
    with Arm.simulated("so101", real_time=False) as arm:
        running = arm.session.arm
        loop, bus, names, home = running.session, running.clock, running.description.joint_names, np.array(running.servos.home)
        bus.harm, took, answers, goal = (
            noise(corrupt=CORRUPT, seed=SEED),
            list[float](),
            list(),
            np.array([0.3, 0.1, 0.1, 0.1, 0.0, 0.0]),
        )
        for number in range(count):
            if number % GOAL_EVERY == 0:
                goal = -goal
                made = Goal(names, [1.0], [(home + goal).tolist()])
                loop.submit(GoalRequest(lambda made=made: made, tracker=running.tracker, answer=answers.append))
            begin = time.thread_time()
            loop.cycle()
            took.append(1e3 * (time.thread_time() - begin))
            bus.run(running.period_s)
        damaged = {
            "cycles": count,
            "share": CORRUPT,
            "lost_samples": int(running.outputs.measured.lost.sum()),
            "goals": len(answers),
            "goals_that_failed": sum(one.outcome.value != "succeeded" for one in answers),
            "fault": running.outputs.fault_latched,
        }
    return {"cycle_ms": round(float(np.median(took)), 3), "damaged": damaged}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
