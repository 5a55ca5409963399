"""Whatever is asked of an arm in whatever order, what is sent obeys every limit, and the true arm follows: generated sequences.

They are drawn by NumPy, the same ones each time, ten times as many with ``pytest --hypothesis-profile long``.  One that fails
is printed, and can be pasted into ``SEEN``; with all that its arm lived through before it is repeated by its seed.
"""

import math

import numpy as np
import pytest
from arm_rig import HOME, IDEAL
from generated import LIFE, lives
from sequences import LOWER, NAMES, TIP_SPEED, UPPER, Life

from picker_dynamics.resources import resource

TYPICAL = str(resource("config/servos.sim.yaml"))


class Draw:
    """What may be asked, drawn: each method an act of a ``Life``."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def one(self, *values):
        return values[self.rng.integers(len(values))]

    def numbers(self, size: float, count: int = 5) -> tuple[float, ...]:
        return tuple((size * self.rng.uniform(-1.0, 1.0, count)).round(3).tolist())

    def pose(self, joints=NAMES) -> tuple[float, ...]:
        columns = [NAMES.index(name) for name in joints]
        q = HOME[columns] + self.numbers(self.one(0.0, 0.05, 0.3, 0.3, 1.5), len(joints))
        return tuple(np.clip(q, LOWER[columns], UPPER[columns]).round(4).tolist())

    def ask(self) -> tuple:
        joints, count = self.one(NAMES, NAMES, NAMES[:4], ("scissor",), ("base", "wrist")), self.one(1, 1, 1, 2, 3)
        times = np.cumsum([self.one(0.1, 0.8, 1.5, 3.0, 3.0) for _ in range(count)]).round(3)
        how = self.one("q", "qv", "qva", "through"), self.one(None, None, None, -5.0, -0.05, 0.1)
        track = "gripper" if joints == ("scissor",) and self.one(True, False) else "arm"
        return "ask", tuple(times.tolist()), tuple(self.pose(joints) for _ in times), joints, *how, track

    def dash(self) -> tuple:
        """A long goal that hardly moves, but for one short stretch."""
        times, there = np.cumsum([self.one(0.1, 0.5), self.one(0.05, 0.3), 0.5]).round(3), self.pose()
        return "ask", tuple(times.tolist()), (tuple(HOME.tolist()), there, there), NAMES, self.one("q", "qv", "qva")

    def nonsense(self) -> tuple:
        q, joint = list(self.pose()), self.rng.integers(5)
        wrong = self.one(math.nan, 9.0, -9.0, None)
        q[joint] = q[joint] if wrong is None else wrong
        return ("nonsense", (0.5,), (q,)) if wrong else ("nonsense", (self.one(-1.0, math.inf, math.nan),), (q,))

    def stream(self) -> tuple:
        how = {
            "hertz": self.one(0.1, 0.3, 1.0),
            "noise": self.one(0.0, 0.0, 5e-4, 2e-3, 2e-2),
            "seed": int(self.rng.integers(99)),
        }
        how |= {"step": self.numbers(self.one(0.0, 0.01, 0.1)), "late_s": self.one(None, None, 0.0, 0.3), "rival": self.one(0, 1)}
        return "stream", int(self.rng.integers(2, 8)), self.numbers(0.3), how

    def change(self) -> tuple:
        return "change", self.one(
            {"speed": 0.0}, {"speed": 0.3}, {"speed": 1.0}, {"tip_speed": 0.02}, {"tip_speed": 0.1}, {"tip_speed": TIP_SPEED}
        )

    def other(self) -> tuple:
        return self.one(
            ("cancel",),
            ("carry", self.one(0.0, 0.02, 0.05, 0.1)),
            ("stall", self.one(0.04, 0.1, 0.2)),
            ("stop", self.one(True, False)),
            ("pull", self.one(0.04, 0.3)),
            ("press", self.one("reset", "enable")),
        )

    def sequence(self) -> list[tuple]:
        """Five acts to nine."""
        kinds = self.ask, self.ask, self.dash, self.nonsense, self.stream, self.change, self.other, self.other
        acts: list[tuple] = []
        for _ in range(self.rng.integers(3, 6)):
            acts += [self.one(*kinds)(), ("run", self.one(0.02, 0.04, 0.1, 0.2))]
        return acts[: self.rng.integers(5, len(acts) + 1)]


def live(life: Life, seed: int) -> None:
    """Sequences of that seed in an arm's life."""
    draw = Draw(seed)
    for number in range(LIFE):
        acts = draw.sequence()
        try:
            life.live(acts)
        except Exception as error:
            raise AssertionError(f"seed {seed}, sequence {number}: {acts}") from error


@lives(600)
def test_what_is_sent(seed):
    live(Life(IDEAL if seed % 2 else TYPICAL, False, 100.0 if seed % 10 == 0 else 50.0), seed)


@lives(200)
def test_what_the_true_arm_does(seed):
    live(Life(TYPICAL if seed % 2 else IDEAL, True, 50.0 if seed % 3 else 100.0), seed)


# -- seen ------------------------------------------------------------------------------------------------------------


SEEN = {
    "a tip speed lowered twelvefold on a way whose middle cannot be held": [
        ("change", {"speed": 0.0}),
        ("ask", (0.05, 0.35), ((-0.59, 2.205, -0.18, -1.14, 0.94), (-0.475, 1.39, -0.495, -0.43, 0.63)), NAMES, "through", -0.05),
        ("change", {"speed": 1.0}),
        ("carry", 0.1),
        ("run", 1.04),
        ("change", {"tip_speed": 0.02}),
        ("run", 4.0),
    ],
    "a lower tip speed in the middle of a stream": [
        ("stream", 100, (0.03, 0.15, -0.15, -0.25, 0.19), {"hertz": 0.1, "seed": 92}),
        ("carry", 0.05),
        ("stream", 65, (-0.27, 0.08, 0.09, -0.13, 0.08), {"hertz": 0.1, "seed": 25}),
        ("run", 0.2),
        ("stream", 95, (0.29, 0.24, 0.06, 0.19, -0.08), {"step": (0.0, 0.005, 0.0, -0.05, 0.05), "late_s": 0.3, "seed": 82}),
        ("run", 0.04),
        ("change", {"tip_speed": 0.1}),
        ("stream", 45, (-0.14, 0.12, 0.2, -0.05, 0.15), {"noise": 0.02, "step": (0.0, 0.1, -0.01, 0.0, -0.05), "seed": 19}),
    ],
    "a heavy payload that stops the motion": [
        ("ask", (3.0,), ((-1.5, 1.88, 0.45, 1.33, 0.0),), NAMES, "q"),
        ("run", 4.2),
        ("carry", 0.1),
        ("run", 3.0),
    ],
}


@pytest.mark.parametrize("name", SEEN)
def test_what_was_seen(name):
    Life(TYPICAL, True, 100.0).live(SEEN[name])


def test_a_short_first_leg_that_is_cancelled():
    """The reference turned back before the first point, and took the set-points with it: 18 mm away."""
    life, start = Life(TYPICAL, True), (0.09, 1.3, -1.81, -0.72, 1.03)
    ends = (0.0, 1.4, -1.8, -0.8, 1.2), *2 * ((0.04, 1.41, -1.801, -0.777, 1.2),)
    for cancel_s in (0.1, 0.12):
        life.live([("ask", (1.5,), (start,)), ("run", 4.0)])
        life.live([("ask", (0.1, 0.4, 0.9), ends, NAMES, "q"), ("run", cancel_s), ("cancel",)])
