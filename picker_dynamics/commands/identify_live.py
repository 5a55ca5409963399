"""``picker identify run``: move a running arm through an excitation, and keep what it measures."""

from __future__ import annotations

import numpy as np

from picker_dynamics.errors import JointNamesError
from picker_dynamics.estimation.identification.motion_file import MotionFile
from picker_dynamics.estimation.identification.samples import Samples

STILL_S = 0.5
"""Logged before and after the motion."""

APPROACH = 0.5
"""Speed with which the arm goes to the first pose [rad/s or m/s]; the controller slows it further where it has to."""


def run(motion: MotionFile, namespace: str = "", tell=lambda _text: None) -> Samples:
    """Go to the first pose, move, come back with the samples.

    Raises:
        LinkError: no graph, or one that is not ready.
        JointNamesError: the graph runs another arm.
        GoalRefusedError: the controller refused a motion; with its reason.
        InputError: the arm measures no torque.
    """
    from picker_dynamics.nodes.state_log import StateLog

    with StateLog(motion.joint_names, namespace) as client:
        running = client.running_arm()
        if motion.arm and running and motion.arm != running:
            raise JointNamesError(f"the motion is for the arm {motion.arm}, and {running} runs", subject="arm", value=running)
        client.wait_holding()
        first = motion.q[0]
        longest = float(np.abs(client.reference() - first).max())
        if longest > 1e-6:
            tell("moving to the first pose")
            client.move_through([max(1.0, longest / APPROACH)], [first])
        client.wait_holding()
        client.logging = True
        client.spin(STILL_S)
        tell(f"moving for {motion.t[-1]:.0f} s")
        took = client.follow(motion.trajectory)
        client.spin(STILL_S)
        client.logging = False
        if took > 1.01 * motion.t[-1]:
            tell(
                f"the controller slowed it to {took:.1f} s: its tip-speed limit is lower than the one the motion was made for "
                "(picker up --tip-speed)"
            )
        t, q, tau = client.logged()
        return Samples(motion.joint_names, t, q, None, tau, "joint_states")
