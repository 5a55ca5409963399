"""``torque_control``: takes the place of ``dynamics`` where joints take efforts: reference and measured state in, efforts out."""

from __future__ import annotations

import sys

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.control.laws.law import Reference
from picker_dynamics.control.payload_follow import Payload, PayloadFollower, drive_effort_sd
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.torque_limits import TorqueLimits

from .arm_setup import load_torque_arm
from .control_node import ControlNode
from .diagnostics import OK, WARN
from .runtime import LATEST, declare, hear_stream, run, seconds


class TorqueControl(ControlNode):
    """Computes efforts for every measured state; the maths is in ``torque_loop``.

    Each state is answered at once.  Without a fresh reference the answer brakes and holds; without states there is none, and
    the drives hold by themselves (``torque_session``).
    """

    def __init__(self, **options):
        super().__init__("torque_control", **options)
        arm = load_torque_arm(self)
        bandwidth = declare(
            self,
            "bandwidth",
            arm.bandwidth,
            "of the computed torque: Kp = w^2, Kd = 2 w [rad/s]",
            low=0.1,
            high=500.0,
            read_only=True,
        )
        self.set_up(arm.description, TorqueLimits.of_arm(arm), (arm.home,))
        self.loop = TorqueLoop(self.model, bandwidth, self.transition_s)
        self.start()
        hear_stream(self, JointState, "joint_states", self.on_state, LATEST)

    def on_held_pose(self, message: JointState) -> None:
        """Begin an epoch: the reference starts anew, and when the arm is not active nobody follows the old one."""
        self.loop.start()
        try:
            self.begin(self.vector(message, "position") if message.name else None)
        except PickerError as error:
            self.begin(None)
            self.complain(f"held pose ignored: {error}")

    def take(self, reference: Reference, time_s: float, _message: JointTrajectory) -> None:
        self.loop.references.push(time_s, reference)

    def on_state(self, message: JointState, _info: object = None) -> None:
        try:
            q, v = self.vector(message, "position"), self.vector(message, "velocity")
            time_s = self.state_stamps.read(seconds(message.header.stamp))
            self.pose = q
            if self.begun is None or self.unbearable:
                return
            tau = self.loop.effort(q, v, time_s)
        except PickerError as error:
            self.complain(f"state ignored: {error}")
            return
        self.publish_command(message, tau)
        if self.following.on and self.loop.following:
            try:
                self.following.observe(q, v, self.vector(message, "effort"), time_s)
            except PickerError as error:
                self.following.obstruct(f"no efforts are measured: {error}")

    def make_follower(self, **bounds) -> PayloadFollower:
        return PayloadFollower(self.model, drive_effort_sd(self.arm.effort, self.arm.friction), **bounds)

    @property
    def loaded(self) -> RigidBody:
        return self.loop.model

    def use_payload(self, payload: Payload) -> None:
        """Control with this payload; where another could not be borne, the joints tell where the arm is: it may move at once."""
        self.loop.set_payload(*payload, self.stamps.now_s())
        if self.unbearable:
            self.loop.start()
            self.begin(self.pose)

    def condition(self) -> tuple[bytes, str]:
        if not self.processed:
            return WARN, "waiting for joint_states"
        if self.following.problem:
            return WARN, self.following.problem
        return OK, "following" if self.loop.following else "no reference: holding"

    def facts(self) -> dict[str, object]:
        return {"tracking_error": float(abs(self.loop.error).max())}


def main(args=None) -> int:
    return run(TorqueControl, args)


if __name__ == "__main__":
    sys.exit(main())
