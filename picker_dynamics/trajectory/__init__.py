"""Joint trajectories, position, velocity and acceleration as functions of time: splines, points as joint_trajectory_controller
reads them, profiles, time scaling, ways to rest.  Imports ``robot`` for its errors' names and array checks; knows no torque.
"""

__all__ = ["corners", "points", "profiles", "splines", "stops", "time_scaling", "trajectory"]
