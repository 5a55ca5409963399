"""The RRP arm under six control laws that are told the wrong load: the reference notes' study of the serial robot, with feedback.

The task      the tool goes 0.66 m straight in 2 s and holds for one more; the controller believes in a load of 0.5 kg,
              the arm carries 0 to 1 kg.
comparison    every law and load, started 1 cm too high, in continuous time and sampled at 1 kHz, quintic profile
profiles      every law and velocity profile, right and wrong load, started on the path, in continuous time
open loop     the note's own experiment: planned efforts (inverse dynamics) into the arm (forward dynamics), no feedback

Errors are distances of the tool from where it should be at that time, in per cent of the path's length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from picker_dynamics.control.laws import Adaptive, ComputedTorque, ControlLaw, FeedForward, PdGravity, Pid, Robust
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian.systems.rrp import inverse_kinematics
from picker_dynamics.trajectory.profiles import NAMES as PROFILES

from .simulate import PERIOD_S, Run, continuous, sampled
from .tool_path import ToolPath, straight

BELIEVED_KG = 0.5
LOADS_KG = (0.0, 0.25, 0.5, 0.75, 1.0)
Q_BEGIN, Q_END = (0.2, 2.2, 0.5), (0.6, 2.0, 0.7)
MOVE_S, TOTAL_S = 2.0, 3.0
START_OFF_M = (0.0, 0.0, 0.01)
"""Where the tool starts, against where the path does."""

LATE_S = 1.5
"""From here on the start must be forgotten."""

MODES = {"continuous": continuous, "sampled": sampled}

KP, KD = 100.0, 20.0
"""Double integrators with poles at -10 1/s, for the laws that have a model."""

JOINT_KP, JOINT_KD, JOINT_KI = (6000.0, 12000.0, 4000.0), (600.0, 1200.0, 400.0), (20000.0, 40000.0, 14000.0)
"""The same in N·m/rad (and N/m), at a little more than the largest inertia, times 4, for the laws that have none."""

RHO, EPSILON = (0.3, 0.8, 0.8), (0.003, 0.008, 0.008)
"""RHO is twice and more the largest model error that occurs."""

L, K, GAMMA = 10.0, (300.0, 700.0, 180.0), 10.0

LAWS = {
    "feed_forward": "feed-forward",
    "computed_torque": "inverse dynamics + PD",
    "pd_gravity": "PD + gravity",
    "pid": "PID",
    "robust": "robust (min-max)",
    "adaptive": "adaptive (Slotine-Li)",
}
"""Laws, and what to call them."""

STARTS = {"on the path": 0.0, "1 um too high": 1e-6, "1 cm too high": 0.01}
"""Starts of the open loop, and how high they are [m]."""


def arm(load_kg: float):
    """The note's arm with that load."""
    return lagrangian.make("rrp", M=load_kg)


def law(name: str) -> ControlLaw:
    """Control law of ``LAWS``, told ``BELIEVED_KG``."""
    believed = arm(BELIEVED_KG)
    makers = {
        "feed_forward": lambda: FeedForward(believed),
        "computed_torque": lambda: ComputedTorque(believed, KP, KD),
        "pd_gravity": lambda: PdGravity(believed, JOINT_KP, JOINT_KD),
        "pid": lambda: Pid(believed, JOINT_KP, JOINT_KI, JOINT_KD),
        "robust": lambda: Robust(believed, KP, KD, RHO, EPSILON),
        "adaptive": lambda: Adaptive(arm(0.0), arm(1.0), L, K, GAMMA, estimate=BELIEVED_KG),
    }
    return makers[name]()


def path(profile: str = "quintic") -> ToolPath:
    """The straight tool path with that profile."""
    return straight(arm(BELIEVED_KG), Q_BEGIN, Q_END, MOVE_S, profile)


class Case(NamedTuple):
    """One simulation: the load, what happened, where the tool was (s, 3) [m], and its error (s,) [% of the path]."""

    load_kg: float
    run: Run
    tool: np.ndarray
    error: np.ndarray

    def error_at(self, time_s: float) -> float:
        """Tracking error of the tool at a time [% of the path]."""
        return float(self.error[np.searchsorted(self.run.t, time_s - 1e-9)])

    def worst_from(self, time_s: float) -> float:
        """Worst tracking error of the tool from a time on [% of the path]."""
        return float(self.error[self.run.t >= time_s - 1e-9].max())

    def passes(self, percent: float) -> float | None:
        """Time at which the tracking error exceeds ``percent`` first [s]; None if it never does."""
        beyond = self.error > percent
        return float(self.run.t[beyond.argmax()]) if beyond.any() else None


def total_variation(t: np.ndarray, tau: np.ndarray, from_s: float = 0.0) -> np.ndarray:
    """Sum of |changes| of efforts tau (s, n) from sample to sample, (n,) [N·m or N]."""
    return np.abs(np.diff(tau[t >= from_s - 1e-9], axis=0)).sum(axis=0)


def simulate(law_name: str, load_kg: float, mode: str, way: ToolPath, start_off=START_OFF_M) -> Case:
    """Simulate one law on the arm with that load, from rest, the tool ``start_off`` (3,) [m] beside the begin of the path."""
    carrying = arm(load_kg)
    q0 = inverse_kinematics(carrying.constants, way.begin + np.asarray(start_off))
    run = MODES[mode](law(law_name), carrying, way, q0, TOTAL_S)
    tool = carrying.forward_kinematics(run.q)
    return Case(load_kg, run, tool, 100.0 * np.linalg.norm(tool - way.tool(run.t), axis=-1) / way.length)


def comparison() -> dict[tuple[str, float, str], Case]:
    """Cases of every law, load and mode."""
    way = path()
    return {(name, load, mode): simulate(name, load, mode, way) for name in LAWS for load in LOADS_KG for mode in MODES}


def profiles() -> dict[tuple[str, float, str], Case]:
    """Cases of every law, the load right or not, and profile, started on the path, in continuous time."""
    ways = {profile: path(profile) for profile in PROFILES}
    return {
        (name, load, profile): simulate(name, load, "continuous", way, (0.0, 0.0, 0.0))
        for name in LAWS
        for load in (BELIEVED_KG, 1.0)
        for profile, way in ways.items()
    }


def open_loop() -> dict[tuple[float, str], Case]:
    """The planned efforts, for the load told, into the arm: the load right or not, on the path or not."""
    way = path()
    return {
        (load, start): simulate("feed_forward", load, "continuous", way, (0.0, 0.0, height))
        for load in (BELIEVED_KG, 1.0)
        for start, height in STARTS.items()
    }


def planned_efforts(way: ToolPath, load_kg: float) -> tuple[np.ndarray, np.ndarray]:
    """Inverse dynamics: t (s,) and the efforts (s, n) that move the load along the path, and hold it."""
    t = np.linspace(0.0, TOTAL_S, round(TOTAL_S / PERIOD_S) + 1)
    return t, arm(load_kg).inverse_dynamics(*way.sample(t))


def unstable_pole(load_kg: float, q) -> float:
    """Fastest growth [1/s] of the arm held at ``q`` (3,) by a constant effort."""
    model = arm(load_kg)
    A, _ = lagrangian.linearise(model, np.array(q), np.zeros(model.n), model.gravity(q))
    return float(np.linalg.eigvals(A).real.max())
