"""What a pose costs: torques of each joint as a share of what it may give, before anything moves."""

from picker_dynamics import Arm

with Arm.offline() as arm:
    for shoulder in (80, 60, 40, 20, 0):
        plan = arm.plan(shoulder=shoulder, elbow=-80, unit="deg")
        said = "may be held" if plan else f"is refused: {plan.refusal}"
        print(
            f"shoulder at {shoulder:3d} deg: {plan.worst_joint} has {plan.margins[plan.worst_joint]:4.0%} left; the pose {said}"
        )
