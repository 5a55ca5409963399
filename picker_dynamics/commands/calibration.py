"""Arm and session of a calibration, as the options name them."""

from __future__ import annotations

from picker_dynamics.errors import refuse_if


def measures(options) -> bool:
    """Whether the arm that is named measures its joints; its files are named from here on."""
    from picker_dynamics.bringup.options import Options
    from picker_dynamics.robot import servo_arm

    chosen = Options(arm=options.arm, urdf=options.urdf)
    why = f"{options.arm} has no servos: picker identify finds the numbers of joints that take efforts"
    refuse_if(chosen.torque_controlled, why, "arm", options.arm)
    options.urdf = chosen.servo_urdf
    arm, servos = servo_arm.load(options.urdf, options.servos, options.servo_overlay)
    options.servos = options.servos or str(servo_arm.shipped_map(arm) or "")
    return servos.bus is not None


def opened(options, anew: bool):
    """The session, begun ``anew`` or gone on with, and what is believed before its first step."""
    from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate, given
    from picker_dynamics.estimation.calibration.session import SIMULATED, Session, checksums
    from picker_dynamics.resources import resource

    files = [options.servos or str(resource("config/servos.yaml")), *filter(None, [options.servo_overlay])]
    arm, servos = given(options.urdf, options.servos, options.servo_overlay)
    kind = SIMULATED if options.simulated else "a real arm"
    tied = {"kind": kind, "name": arm.name, "urdf": arm.source, "servos": files[0], **checksums(arm.urdf, *files)}
    kept = "seed", "weight", "tag", "plant_error"
    settings = {key: getattr(options, key) for key in kept if hasattr(options, key)}
    session = Session.open(options.out, tied, settings, restart=anew)
    return session, ArmEstimate(arm, servos)
