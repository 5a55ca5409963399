"""The strawberry-arm note's formulas for an Arduino (its step 6), errors included, for arrays of states.

``theta``, ``theta_dot``, ``theta_ddot`` are (..., 5): base, shoulder, elbow, wrist, scissor.  The names are the note's.
What is missing against the exact model:

    mass matrix     the diagonal only, and without the gripper m4; shoulder without the wrist's terms in L3
    Coriolis        products of two rates, everything that the yaw and the wrist add, m4; and m2 counts double
    base, scissor   a number times the acceleration
"""

from __future__ import annotations

import numpy as np

m1, m2, m3, m4 = 0.15, 0.12, 0.08, 0.05
L1, L2, L3 = 0.20, 0.145, 0.08
g = 9.81  # the note's own number, as those above: not robot.model.GRAVITY, which the exact model uses
I1y, I2y, I3y = 0.0005, 0.0003, 0.0002

cos, sin = np.cos, np.sin


def mass_diagonal(theta) -> tuple:
    """Diagonal of the mass matrix of shoulder, elbow and wrist, the note's computeMassMatrixElement [kg·m²]."""
    theta2, theta3 = theta[..., 2], theta[..., 3]
    shoulder = (
        I1y
        + m1 * L1 * L1 / 4
        + I2y
        + m2 * (L1 * L1 + L2 * L2 / 4 + L1 * L2 * cos(theta2))
        + I3y
        + m3 * (L1 * L1 + L2 * L2 + 2 * L1 * L2 * cos(theta2) + L3 * L3 / 4)
    )
    elbow = I2y + m2 * L2 * L2 / 4 + I3y + m3 * (L2 * L2 + L3 * L3 / 4 + L2 * L3 * cos(theta3))
    return shoulder, elbow, I3y + m3 * L3 * L3 / 4


def parts(theta, theta_dot, theta_ddot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inertial, Coriolis and gravity parts of :func:`compute_joint_torques`, (..., 5) each."""
    inertial, coriolis, gravity = np.zeros((3, *theta.shape))
    upper, fore, hand = np.moveaxis(np.cumsum(theta[..., 1:4], axis=-1), -1, 0)
    gravity[..., 3] = g * L3 * (m3 / 2 + m4) * cos(hand)
    gravity[..., 2] = gravity[..., 3] + g * L2 * (m2 / 2 + m3 + m4) * cos(fore)
    gravity[..., 1] = gravity[..., 2] + g * L1 * (m1 / 2 + m2 + m3 + m4) * cos(upper)
    inertia = 0.1, *mass_diagonal(theta), 0.05
    for joint in range(5):
        inertial[..., joint] = inertia[joint] * theta_ddot[..., joint]
    bend = (m2 + m3) * L1 * L2 * sin(theta[..., 2])
    coriolis[..., 1], coriolis[..., 2] = -bend * theta_dot[..., 2] ** 2, bend * theta_dot[..., 1] ** 2
    return inertial, coriolis, gravity


def compute_joint_torques(theta, theta_dot, theta_ddot) -> np.ndarray:
    """Joint torques, the note's computeJointTorques, (..., 5) [N·m]."""
    inertial, coriolis, gravity = parts(theta, theta_dot, theta_ddot)
    return inertial + coriolis + gravity
