"""Simulated torque-measuring arms with hidden parameters: MuJoCo moves them, readings have noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from picker_dynamics.control.laws.computed_torque import ComputedTorque
from picker_dynamics.control.laws.law import NO_STATE, Reference
from picker_dynamics.dynamics.lagrangian.bodies import Body
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.identification import filtering
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.excitation import Fourier
from picker_dynamics.estimation.identification.identified_urdf import with_bodies
from picker_dynamics.estimation.identification.inertia import body, of_description, pseudo_inertia, standard
from picker_dynamics.estimation.identification.samples import Samples
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.sim.torque_plant import TorquePlant

STEP_S, SAMPLE_EVERY = 1e-3, 4
"""Step of the simulation and its control [s]; how many of them pass between two samples."""

BANDWIDTH = 25.0
"""w of the computed torque that moves it [rad/s], with the model as believed."""

ENCODER_COUNTS = 2**14
"""Per turn; of a sliding joint per metre."""

TORQUE_NOISE = 0.05
"""Standard deviation, as a share of each joint's root mean square."""

OFF_SHARE = 0.15, 0.30
"""How far mass, inertia and centre of mass of the hidden arm are off."""

FRICTION_SHARE = (0.02, 0.08)
"""Hidden Coulomb friction, and viscous at the velocity limit, as shares of the efforts that usual motions take."""


class Run(NamedTuple):
    """Simulated run: what was measured, and the effort that really acted, (k, n) [N·m or N]."""

    samples: Samples
    true_tau: np.ndarray


def hidden(description: ArmDescription, seed: int, tip_speed: float) -> ArmDescription:
    """The arm as it really is: each body's mass, inertia and centre of mass off by such shares, with friction.

    The centre of mass moves along each principal axis by a share of how far the body's mass is from the joint that way (root mean
    square), so that a rod stays a rod.  ``tip_speed`` [m/s] is what the arm is usually moved with.
    """
    rng, bodies = np.random.default_rng(seed), []

    def off(size=None):
        return rng.choice([-1.0, 1.0], size) * rng.uniform(*OFF_SHARE, size)

    for pi in of_description(description):
        one = body(pi)
        spread, axes = np.linalg.eigh(pseudo_inertia(pi)[:3, :3] / one.mass)
        shift = axes @ (off(3) * np.sqrt(np.maximum(spread, 0.0)))
        bodies.append(standard(Body(one.mass * (1.0 + off()), one.com + shift, one.inertia * (1.0 + off()))))
    model = RigidBody(description)
    usual = np.sqrt(np.mean(model.inverse_dynamics(*Columns(description).usual_states(tip_speed)) ** 2, axis=0))
    coulomb, viscous = rng.uniform(*FRICTION_SHARE, (2, description.n)) * usual
    return parse(
        with_bodies(description, np.array(bodies), viscous / description.velocity, coulomb), f"hidden {description.name}"
    )


def run(truth: ArmDescription, believed: ArmDescription, motion: Fourier, seed: int = 0, *, noise: float = TORQUE_NOISE) -> Run:
    """Move the arm along a motion, from rest at its begin, and measure.

    Args:
        truth: the arm that MuJoCo simulates.
        believed: what the controller knows of it.
    """
    law = ComputedTorque(RigidBody(believed), BANDWIDTH**2, 2.0 * BANDWIDTH)
    plant = TorquePlant(truth, q=motion.sample([0.0])[0][0], dt=STEP_S)
    reference = motion.sample(STEP_S * np.arange(round(motion.duration / STEP_S)))
    q, tau = [], []
    for now in zip(*reference):
        before = plant.q
        effort = np.clip(law(before, plant.v, Reference(*now), NO_STATE)[0], -truth.effort, truth.effort)
        plant.step(effort)
        q.append(0.5 * (before + plant.q))  # the effort acts over a step: what it belongs to is its middle
        tau.append(effort)
    step = np.where([unit == "m" for unit in believed.position_units], 1.0, 2.0 * math.pi) / ENCODER_COUNTS
    q, tau = step * np.round(np.array(q[::SAMPLE_EVERY]) / step), np.array(tau[::SAMPLE_EVERY])
    t = STEP_S * (SAMPLE_EVERY * np.arange(len(q)) + 0.5)
    exact = Run(Samples(believed.joint_names, t, q, None, tau, "simulated"), tau)
    return Run(noisy(exact, seed, noise), tau)


def noisy(exact: Run, seed: int, noise: float = TORQUE_NOISE) -> Samples:
    """The samples with normal noise on the efforts that really acted."""
    tau = exact.true_tau
    drawn = np.random.default_rng(seed).normal(size=tau.shape)
    return replace(exact.samples, tau=tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * drawn)


def shares(columns: Columns, pi: np.ndarray, run: Run) -> np.ndarray:
    """Error of the efforts that are predicted for a run, against those that acted, moving or not: shares of their size, (n,)."""
    moved = filtering.motion(run.samples)
    off = columns.regressor(moved.q, moved.v, moved.a) @ pi - run.true_tau
    return np.sqrt(np.mean(off[moved.used] ** 2, axis=0) / np.mean(run.true_tau[moved.used] ** 2, axis=0))
