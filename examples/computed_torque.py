"""Computed torque: a law of one line moves the notes' RRP arm, whose dynamics are integrated here."""

import numpy as np
from scipy.integrate import solve_ivp

from picker_dynamics import load

arm = load("rrp")
goal, stiffness, damping = np.array([0.5, 2.0, 0.6]), 100.0, 20.0


def law(q, v):
    """tau = M(q) (Kp (q_d - q) - Kd v) + C v + g: the arm becomes three masses on springs."""
    return arm.inverse_dynamics(q, v, stiffness * (goal - q) - damping * v)


def motion(_t, state):
    """d/dt of (q, v)."""
    q, v = np.split(state, 2)
    return np.concatenate([v, arm.forward_dynamics(q, v, law(q, v))])


start = np.array([0.2, 2.2, 0.5, 0.0, 0.0, 0.0])
end = solve_ivp(motion, (0.0, 1.5), start, rtol=1e-8).y[:, -1]
print("after 1.5 s it is off by", np.abs(end[:3] - goal).max().round(6), "rad or m")
