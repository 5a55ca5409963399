"""Torque prediction of identified arms: ``python -m benchmarks.identification``.

MuJoCo moves arms whose masses, centres of mass and inertias are hidden (15 to 30 % from the URDF's), with friction; torques are
read with noise of 5 % of their root mean square, positions with encoders of 14 bits, velocities not at all.  One motion of 20 s
is fitted; another one, of another seed, is predicted and compared with the torques that MuJoCo was given, without noise and
filter.  What is left is what ``true_parameters`` leave too: dry friction that holds on while the model's passes through zero.
"""

from __future__ import annotations

import json
import math
import re
import time

import numpy as np

from benchmarks import hidden_arms
from benchmarks.dynamics import serial_arm
from picker_dynamics.commands.identify_verbs import TORQUE_ARM
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.identification import base, procedure
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.excitation import BETTERED, Search
from picker_dynamics.robot import arms, description
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.scripting.equipment import Equipment

TIP_SPEED = 2.0
"""Largest that a controller accepts [m/s]: nobody stands beside these arms."""

PERIOD_S, PERIODS = 10.0, 2
NAMES = ("rrp", "three_link", "chain_3", "chain_4", "chain_5", "chain_6")
SEEDS = (1, 2, 3)
COVERAGE_SEEDS = 40
STRONG = 1.5
"""Effort limits of the chains, as multiples of what their motions take at most."""


def chain(joints: int) -> ArmDescription:
    """A serial arm whose drives are as strong as it needs."""
    arm = description.parse(serial_arm(joints))
    q, v, a = Columns(arm).usual_states(math.inf)
    largest = iter(STRONG * np.abs(RigidBody(arm).inverse_dynamics(q, v, a)).max(axis=0))
    return description.parse(re.sub('effort="100"', lambda _match: f'effort="{next(largest):.3g}"', arm.urdf), f"chain_{joints}")


class Arm:
    """One arm, as believed; its base parameters and the motions to fit and to predict."""

    def __init__(self, name: str, bettered: int = BETTERED):
        chained = name.startswith("chain_")
        named = arms.Arm(name, chain(int(name[-1])), "torque", **TORQUE_ARM) if chained else arms.load(name)
        self.believed, home = named.description, named.home
        allowed = Equipment(self.believed, torque=named).validator(tip_speed=TIP_SPEED)
        self.columns = Columns(self.believed)
        self.base = base.find(self.columns)
        search, begin = Search(self.base, allowed, PERIOD_S), time.perf_counter()
        self.excitation = search.run(home, seed=0, bettered=bettered, periods=PERIODS)
        self.seconds = time.perf_counter() - begin
        self.other = search.run(home, seed=1, bettered=bettered)

    def measured(self, seed: int):
        """The hidden arm of that seed, and what both motions gave."""
        truth = hidden_arms.hidden(self.believed, seed, TIP_SPEED)
        return truth, *(
            hidden_arms.run(truth, self.believed, one.motion, 100 * seed + i)
            for i, one in enumerate((self.excitation, self.other))
        )


def predicted(arm: Arm, seed: int) -> dict:
    """Errors on the other motion [% of the torques' root mean square]: identified, the URDF's, the true parameters'."""
    truth, fitted, other = arm.measured(seed)
    begin = time.perf_counter()
    found = procedure.identify(arm.columns, [fitted.samples], tip_speed=TIP_SPEED)
    seconds = time.perf_counter() - begin
    ways = {"identified": found.bodies.pi, "urdf": arm.columns.believed(), "true_parameters": Columns(truth).believed()}
    columns = {"identified": found.bodies.columns}
    results = {name: hidden_arms.shares(columns.get(name, arm.columns), pi, other) for name, pi in ways.items()}
    return {
        "seed": seed,
        "seconds": round(seconds, 2),
        "misfit": round(found.misfit, 2),
        **{
            name: {
                "overall_percent": round(100.0 * float(np.sqrt(np.mean(one**2))), 2),
                "joints_percent": (100.0 * one).round(2).tolist(),
            }
            for name, one in results.items()
        },
    }


def coverage(arm: Arm, seeds: int) -> dict:
    """How often the 95 % intervals of the base parameters hold the truth: one arm, the noise drawn anew."""
    truth = hidden_arms.hidden(arm.believed, 1, TIP_SPEED)
    run = hidden_arms.run(truth, arm.believed, arm.excitation.motion, 0, noise=0.0)
    true_beta = arm.base.X @ Columns(truth).believed()
    inside = []
    for seed in range(seeds):
        found = procedure.identify(arm.columns, [hidden_arms.noisy(run, seed)], tip_speed=TIP_SPEED).base
        inside.append(np.abs(found.beta - true_beta) < 1.96 * found.sd)
    inside = np.array(inside)
    return {
        "seeds": seeds,
        "base_parameters": len(arm.base.independent),
        "percent": round(100.0 * float(inside.mean()), 1),
        "worst_parameter_percent": round(100.0 * float(inside.mean(axis=0).min()), 1),
    }


def run(names=NAMES, seeds=SEEDS, coverage_seeds: int = COVERAGE_SEEDS, bettered: int = BETTERED) -> dict:
    """All arms; ready for JSON."""
    results, first = {}, None
    for name in names:
        arm = Arm(name, bettered)
        first = first or (arm if name == "three_link" else None)
        cases = [predicted(arm, seed) for seed in seeds]
        results[name] = {
            "base_parameters": len(arm.base.independent),
            "condition": round(arm.excitation.condition, 1),
            "excitation_seconds": round(arm.seconds, 1),
            "cases": cases,
            "worst_percent": max(case["identified"]["overall_percent"] for case in cases),
            "worst_joint_percent": max(max(case["identified"]["joints_percent"]) for case in cases),
        }
    return {
        "noise_percent": 100.0 * hidden_arms.TORQUE_NOISE,
        "tip_speed": TIP_SPEED,
        "arms": results,
        "coverage": coverage(first or Arm("three_link", bettered), coverage_seeds),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
