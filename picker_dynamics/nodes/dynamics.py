"""``dynamics``: reference in, torque and compensated servo set-point out."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.control.compensation import MODES, NONE, Compensator
from picker_dynamics.control.laws.law import Reference
from picker_dynamics.control.payload_follow import Payload, PayloadFollower, held_by_gears, servo_effort_sd, spring_efforts
from picker_dynamics.control.supply_follow import checked_source
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError, LimitError, PickerError
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.units import told

from .arm_setup import load_arm
from .control_node import ControlNode
from .diagnostics import OK, WARN
from .duplicate_publishers import OnePublisher
from .runtime import LATCHED, LATEST, declare, hear_stream, run, seconds

LONGEST_STEP_S = 0.1
"""A gap between references counts as this much time at the most, so that no fade is skipped."""

NEAR, AHEAD_S = 5e-3, 0.1
"""How far the first reference of an epoch may be from the pose that is held [rad, m], and how long it may have moved [s]."""

PATIENCE_S = 0.5
"""So long references of before are still on their way when an epoch begins [s]."""


class Dynamics(ControlNode):
    """Turns references into set-points; the maths is in ``compensation`` and ``rigid_body``."""

    def __init__(self, **options):
        super().__init__("dynamics", **options)
        arm, self.servos = load_arm(self)
        mode = declare(self, "compensation", "full", "none, gravity, or full (computed torque)")
        fade_s = declare(
            self,
            "fade_s",
            0.5,
            "shortest duration of the fade after activation and mode changes [s]",
            low=0.1,
            high=10.0,
            read_only=True,
        )
        resting = (self.servos.rest, self.servos.home)
        self.set_up(arm, TorqueLimits.of_servos(self.servos), resting, self.servos.armature)
        self.compensator = Compensator(
            self.model,
            self.servos.model,
            mode,
            fade_s=fade_s,
            transition_s=self.transition_s,
            setpoint_lower=self.servos.setpoint_lower,
            setpoint_upper=self.servos.setpoint_upper,
            setpoint_speed=self.servos.setpoint_speed,
        )
        self.states, self.last_s, self.waits_s, self.velocity = None, None, None, self.still
        self.sources = OnePublisher(self, Float64, "hardware/supply", self.on_source)
        self.mode_out, self.told_mode = self.create_publisher(String, "compensation", LATCHED), ""
        self.start()
        self.tell_mode()

    def on_held_pose(self, message: JointState) -> None:
        """Fade in at a new epoch from the set-point that is on the outputs: the servos' springs bear the efforts with it."""
        self.pose = None
        self.begin(None)
        if not message.name:
            return
        try:
            held, effort = (
                ordered(message.name, values, self.arm.joint_names, "hardware/held_pose")
                for values in (message.position, message.effort)
            )
            self.compensator.start_held(held, effort)
        except PickerError as error:
            self.complain(f"held pose ignored: {error}")
            return
        self.last_s, self.waits_s, self.velocity = None, None, self.still
        self.begin(held)

    def on_source(self, message: Float64) -> None:
        """Take what the servos' supply gives without load: the compensation follows it, at its own pace."""
        try:
            source = checked_source(message.data)
        except PickerError as error:
            self.complain(f"supply refused: {error}")
            return
        self.compensator.source = source
        self.limits = replace(self.limits, source=source)

    def take(self, reference: Reference, time_s: float, message: JointTrajectory) -> None:
        if self.last_s is None and not self.joins(reference, time_s):
            return
        step = 0.0 if self.last_s is None else min(max(time_s - self.last_s, 0.0), LONGEST_STEP_S)
        setpoint, tau = self.compensator.update(*reference, step)
        self.tell_mode()
        self.last_s, self.pose, self.velocity = time_s, reference.q, reference.v
        self.publish_command(message, tau, setpoint)

    def joins(self, reference: Reference, time_s: float) -> bool:
        """Whether the epoch may begin with a reference: one that goes on from an older pose would be played as a step.

        Raises:
            LimitError: still none does.
        """
        away = np.abs(reference.q - self.begun) - AHEAD_S * np.abs(reference.v)
        j = int(away.argmax())
        if away[j] <= NEAR:
            return True
        if self.waits_s is None:
            self.waits_s = time_s
        if time_s - self.waits_s < PATIENCE_S:
            return False
        name, unit, value = self.arm.joint_names[j], self.arm.position_units[j], float(away[j])
        text = f"{name} would begin {told(value, unit, NEAR)} from the pose that is held, allowed {told(NEAR, unit, value)}"
        raise LimitError(f"{text}: does the controller know that pose?", subject=name, value=value, limit=NEAR)

    @property
    def moves(self) -> bool:
        """Whether the reference moves."""
        return self.pose is not None and bool(self.velocity.any())

    def change(self, parameters: dict[str, object]) -> None:
        mode = parameters.get("compensation", self.compensator.mode)
        if mode not in MODES:
            raise InputError(f"compensation is {mode!r}, must be one of {', '.join(MODES)}", subject="compensation", value=mode)
        if mode != self.compensator.mode and NONE in (mode, self.compensator.mode) and self.moves:
            raise InputError(
                f"compensation is changed from {self.compensator.mode} to {mode} at rest only: the arm would sag or rise",
                subject="compensation",
                value=mode,
            )
        if parameters.get("payload.follow") and (why := held_by_gears(self.servos.model)):
            raise InputError(f"payload.follow: {why}", subject="payload.follow", value=True)
        super().change(parameters)
        changed = mode != self.compensator.mode
        self.compensator.set_mode(mode)
        self.tell_mode()
        if changed and self.diagnosed.lets_pass():  # at once, for who asks now
            self.on_diagnostics()

    def tell_mode(self) -> None:
        """Tell the mode of the compensation where it is another.

        Collisions go by it, so that an arm that hung from its springs does so until it has risen.
        """
        mode = self.compensator.mode
        if mode == self.told_mode or (self.told_mode == NONE and not self.compensator.settled):
            return
        self.told_mode = mode
        self.mode_out.publish(String(data=mode))

    # -- following the payload: a servo whose angle is measured tells by its spring what it bears ---------------

    def make_follower(self, **bounds) -> PayloadFollower:
        return PayloadFollower(self.model, servo_effort_sd(self.servos.model), at_rest_only=True, **bounds)

    @property
    def loaded(self) -> RigidBody:
        return self.compensator.model

    def use_payload(self, payload: Payload) -> None:
        self.compensator.set_payload(*payload)

    def switch_following(self, on: bool) -> None:
        """Hear joint_states while the payload is followed, and not otherwise."""
        super().switch_following(on)
        if on:
            self.states = hear_stream(self, JointState, "joint_states", self.on_state, LATEST)
        else:
            self.destroy_subscription(self.states)

    def on_state(self, message: JointState, _info: object = None) -> None:
        if not self.following.on:
            return
        if why := held_by_gears(self.servos.model):  # wished from the start
            self.following.follower.pause()
            self.following.obstruct(why)
            return
        if self.pose is None or self.moves:
            self.following.follower.pause()
            return
        try:
            q = self.vector(message, "position")
            v = self.vector(message, "velocity") if message.velocity else self.still
        except PickerError as error:
            self.following.obstruct(error)
            return
        effort, sure = spring_efforts(self.servos.model, self.command.position, q)
        self.following.observe(q, v, effort, self.state_stamps.read(seconds(message.header.stamp)), sure)

    # -- what is said --------------------------------------------------------------------------------------

    def condition(self) -> tuple[bytes, str]:
        if self.compensator.clamped:
            return WARN, f"set-point at the end of its pulse range: {', '.join(self.compensator.clamped)}"
        if self.following.problem:
            return WARN, self.following.problem
        if self.servos.unmeasured:
            return WARN, f"not measured, assumed: {', '.join(self.servos.unmeasured)}"
        return OK, "compensating"

    def facts(self) -> dict[str, object]:
        return {"compensation": self.compensator.mode, "unmeasured": ", ".join(self.servos.unmeasured)}


def main(args=None) -> int:
    return run(Dynamics, args)


if __name__ == "__main__":
    sys.exit(main())
