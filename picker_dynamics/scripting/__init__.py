"""What a person's own script uses: ``Arm`` on a simulation in the process, on the running graph, or for questions alone, and the
dynamics by themselves.  Imports every room below it; rclpy and MuJoCo are loaded only where an arm needs them.
"""

__all__ = ["arm", "equipment", "legs", "pick", "replay", "steps", "target", "taught", "view"]
