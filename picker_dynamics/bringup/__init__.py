"""The graph of nodes as data, made of what a person chooses, read by the launch file and by ``picker up``, and the runner that
starts it.  Imports ``robot``, ``files``, ``session`` and, for the firmware's build, ``board``; starts nodes as processes, and
never imports them.
"""

__all__ = ["bringup", "options", "runner", "rviz_config"]
