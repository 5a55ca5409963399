"""``torque_arm_sim``: takes the place of ``hardware`` for a simulated arm of torque-controlled joints."""

from __future__ import annotations

import sys
import time

from rclpy.node import Node
from sensor_msgs.msg import JointState

from picker_dynamics.board.stamp_clock import StampReader
from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.control.payload_follow import MEASURED
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import PickerError
from picker_dynamics.robot.joint_order import ordered

from .arm_setup import load_torque_arm
from .diagnostics import OK, array, name_of, status
from .runtime import declare, run, seconds, stamp_clock, steady_timer
from .session_node import SessionNode

CATCH_UP_S = 0.5
"""After a longer pause the simulation goes on from now: the machine was asleep."""


class TorqueArmSim(SessionNode, Node):
    """Runs a ``TorquePlant`` in real time under a ``TorqueSession``, and measures it."""

    hardware_id, provenance = "simulated", MEASURED

    def __init__(self, **options):
        from picker_dynamics.sim.torque_plant import TorquePlant  # here, so that without MuJoCo the node ends with one line

        super().__init__("torque_arm_sim", **options)
        arm = load_torque_arm(self)
        self.arm = arm.description
        rate = declare(self, "measure_rate_hz", 250.0, "rate of joint_states [Hz]", low=50.0, high=500.0, read_only=True)
        error = declare(
            self,
            "plant_error",
            0.0,
            "bound of the relative errors of the simulated arm's masses",
            low=0.0,
            high=0.5,
            read_only=True,
        )
        seed = declare(self, "seed", 0, "of those errors", low=0, high=2**31 - 1, read_only=True)
        load = declare(
            self,
            "attached_kg",
            0.0,
            "load hung on the simulated tool, of which the controller is not told [kg]",
            low=0.0,
            high=5.0,
        )
        self.plant = TorquePlant(self.arm, q=arm.home, plant_error=error, seed=seed)
        self.plant.attach(load)
        self.session = TorqueSession(RigidBody(self.arm), self.arm.effort, self.arm.velocity, arm.bandwidth)
        self.session.activate(at_rest_pose=True)
        self.now_s = time.monotonic()
        self.rejected, self.skipped_s = 0, 0.0
        self.command_stamps = StampReader(stamp_clock(self))
        self.offer("stopped: braking, then holding; latched until reset", self.advance)
        steady_timer(self, 1.0 / rate, self.on_tick)

    def advance(self) -> None:
        """Simulate until now."""
        behind = time.monotonic() - self.now_s
        if behind > CATCH_UP_S:
            self.skipped_s += behind - CATCH_UP_S
            self.now_s += behind - CATCH_UP_S
        session, plant = self.session, self.plant
        for _ in range(int((time.monotonic() - self.now_s) / plant.dt)):
            plant.step(session.torque(plant.q, plant.v, self.now_s))
            self.now_s += plant.dt

    def enable(self) -> str:
        return self.session.activate(at_rest_pose=True)

    adopt = enable

    # -- topics and parameters -----------------------------------------------------------------------------

    def on_command(self, message: JointState) -> None:
        """Take a command: what acted before acts on until then; its stamp is the state's which it answers, 0: the present one."""
        self.advance()
        stamp = seconds(message.header.stamp)
        try:
            tau = ordered(message.name, message.effort, self.arm.joint_names, "joint_commands")
            self.session.command(tau, min(self.command_stamps.read(stamp), self.now_s) if stamp else self.now_s)
        except PickerError as error:
            self.rejected += 1
            self.get_logger().error(f"command ignored: {error}", throttle_duration_sec=1.0)

    def change(self, parameters: dict[str, object]) -> None:
        if "attached_kg" in parameters:
            self.plant.attach(parameters["attached_kg"])

    # -- time ----------------------------------------------------------------------------------------------

    def on_tick(self) -> None:
        self.advance()
        self.session.tick(self.now_s)
        self.publish_status()
        self.publish_state(self.plant.q, self.plant.v, self.plant.torque)

    def on_diagnostics(self) -> None:
        session = self.session
        drives = status(
            self.level(),
            f"{name_of(self)}: drives",
            session.problem or session.state.value,
            self.hardware_id,
            state=session.state.value,
            commands_taken=session.taken,
            commands_not_active=session.not_active,
            commands_saturated=session.saturated,
            commands_rejected=self.rejected,
            skipped_s=self.skipped_s,
        )
        state = status(OK, f"{name_of(self)}: joint state", MEASURED, self.arm.name, provenance=MEASURED)
        self.diagnostics_out.publish(array(self.get_clock().now().to_msg(), drives, state))


def main(args=None) -> int:
    return run(TorqueArmSim, args)


if __name__ == "__main__":
    sys.exit(main())
