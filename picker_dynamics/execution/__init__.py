"""From a goal to a checked reference: what was asked, whether it may start, what is sent, and what became of it.  Free of ROS;
times come in.  Imports ``robot`` and ``trajectory``; models come in as
``DynamicsModel``.
"""

__all__ = [
    "checks",
    "collision",
    "driving",
    "events",
    "execution",
    "floor",
    "goal",
    "goal_manager",
    "goal_tracking",
    "gripping",
    "jogging",
    "lease",
    "motion",
    "payload_hold",
    "reference_generator",
    "settle_downward",
    "streaming",
    "tip_uncertainty",
    "tolerances",
    "torque_limits",
    "validator",
    "waypoints",
    "worker",
]
