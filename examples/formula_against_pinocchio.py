"""A formula against Pinocchio: the picker's gravity torques as written by hand, and as the recursive algorithm finds them."""

import numpy as np

from picker_dynamics import Arm, load
from picker_dynamics.dynamics import lagrangian

description = Arm.offline().description
k = lagrangian.from_description(description).constants  # P1, P2, P3: first moments of what each link carries [kg·m]

base, shoulder, elbow, wrist, scissor = q = np.radians([20.0, 65.0, -55.0, -20.0, 0.0])
a1, a2, a3 = np.cumsum([shoulder, elbow, wrist])  # elevations of the three links, from the horizontal
lift = k.g * np.array([k.P1 * np.cos(a1), k.P2 * np.cos(a2), k.P3 * np.cos(a3)])
gravity_torque = np.array([0.0, lift.sum(), lift[1:].sum(), lift[2], 0.0])  # a joint carries every link beyond it

print("by hand:  ", gravity_torque.round(9))
print("Pinocchio:", load("picker").gravity(q).round(9))
