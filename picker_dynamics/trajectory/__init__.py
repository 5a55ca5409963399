"""Joint trajectories, position, velocity and acceleration as functions of time: splines, points as joint_trajectory_controller
reads them, profiles, time scaling, ways to rest; paths (straight lines of the tool, blended legs) and the fastest way along them.
Imports ``robot`` for its array checks and kinematics; knows no torque.
"""

__all__ = ["profiles", "progress", "splines", "stops", "straight_line", "time_scaling", "trajectory", "via_path"]
