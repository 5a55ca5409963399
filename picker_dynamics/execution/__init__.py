"""From a goal to a checked reference: what was asked, whether it may start, what is sent, and what became of it.  Free of ROS;
times come in.  Imports ``files``, ``robot`` and ``trajectory``; models come in as
``DynamicsModel``.
"""

__all__ = [
    "checks",
    "collision",
    "driving",
    "events",
    "execution",
    "goal",
    "goal_manager",
    "goal_tracking",
    "gripping",
    "guiding",
    "lease",
    "motion",
    "planning",
    "reference_generator",
    "settle_downward",
    "streaming",
    "tip_uncertainty",
    "validator",
    "waypoints",
]
