"""Control of cheap servo arms: dynamics, compensation, trajectories, serial hardware and ROS 2 nodes."""

__version__ = "0.1.0"
