"""The strawberry-arm note's formulas for an Arduino (its step 6), term by term, errors included, for arrays of states.

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


def compute_gravity_compensation(joint: int, theta1, theta2, theta3):
    """Gravity torque of a joint, the note's computeGravityCompensation [N·m]."""
    if joint == 1:
        return (
            m1 * g * (L1 / 2) * cos(theta1)
            + m2 * g * (L1 * cos(theta1) + (L2 / 2) * cos(theta1 + theta2))
            + m3 * g * (L1 * cos(theta1) + L2 * cos(theta1 + theta2) + (L3 / 2) * cos(theta1 + theta2 + theta3))
            + m4 * g * (L1 * cos(theta1) + L2 * cos(theta1 + theta2) + L3 * cos(theta1 + theta2 + theta3))
        )
    if joint == 2:
        return (
            m2 * g * (L2 / 2) * cos(theta1 + theta2)
            + m3 * g * (L2 * cos(theta1 + theta2) + (L3 / 2) * cos(theta1 + theta2 + theta3))
            + m4 * g * (L2 * cos(theta1 + theta2) + L3 * cos(theta1 + theta2 + theta3))
        )
    if joint == 3:
        return m3 * g * (L3 / 2) * cos(theta1 + theta2 + theta3) + m4 * g * L3 * cos(theta1 + theta2 + theta3)
    return 0.0


def compute_mass_matrix_element(i: int, j: int, theta1, theta2, theta3):
    """Element of the mass matrix, the note's computeMassMatrixElement [kg·m²]."""
    if i == 1 and j == 1:
        return (
            I1y
            + m1 * L1 * L1 / 4
            + I2y
            + m2 * (L1 * L1 + L2 * L2 / 4 + L1 * L2 * cos(theta2))
            + I3y
            + m3 * (L1 * L1 + L2 * L2 + 2 * L1 * L2 * cos(theta2) + L3 * L3 / 4)
        )
    if i == 2 and j == 2:
        return I2y + m2 * L2 * L2 / 4 + I3y + m3 * (L2 * L2 + L3 * L3 / 4 + L2 * L3 * cos(theta3))
    if i == 3 and j == 3:
        return I3y + m3 * L3 * L3 / 4
    return 0.0


def compute_coriolis_term(joint: int, theta2, theta1_dot, theta2_dot):
    """Coriolis torque of a joint, the note's computeCoriolisTerm [N·m]; its other arguments do not occur in it."""
    if joint == 1:
        return -m2 * L1 * L2 * sin(theta2) * theta2_dot * theta2_dot - m3 * L1 * L2 * sin(theta2) * theta2_dot * theta2_dot
    if joint == 2:
        return m2 * L1 * L2 * sin(theta2) * theta1_dot * theta1_dot + m3 * L1 * L2 * sin(theta2) * theta1_dot * theta1_dot
    return 0.0


def parts(theta, theta_dot, theta_ddot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inertial, Coriolis and gravity parts of :func:`compute_joint_torques`, (..., 5) each."""
    angles = theta[..., 1], theta[..., 2], theta[..., 3]
    inertial, coriolis, gravity = np.zeros((3, *theta.shape))
    for joint in (1, 2, 3):
        gravity[..., joint] = compute_gravity_compensation(joint, *angles)
        inertial[..., joint] = compute_mass_matrix_element(joint, joint, *angles) * theta_ddot[..., joint]
        coriolis[..., joint] = compute_coriolis_term(joint, theta[..., 2], theta_dot[..., 1], theta_dot[..., 2])
    inertial[..., 0] = 0.1 * theta_ddot[..., 0]
    inertial[..., 4] = 0.05 * theta_ddot[..., 4]
    return inertial, coriolis, gravity


def compute_joint_torques(theta, theta_dot, theta_ddot) -> np.ndarray:
    """Joint torques, the note's computeJointTorques, (..., 5) [N·m]."""
    return sum(parts(theta, theta_dot, theta_ddot))
