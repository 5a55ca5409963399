"""ROS 2 nodes: shells around the rooms below, which convert, call and publish.  Imports every room below but ``estimation``; the
only room that imports rclpy and messages.
"""

__all__ = [
    "claims",
    "client",
    "client_scene",
    "diagnostics",
    "driver",
    "loop_meter",
    "marker_shapes",
    "pick_topic",
    "recorder",
    "runtime",
    "state_log",
    "view_client",
]
