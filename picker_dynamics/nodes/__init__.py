"""ROS 2 nodes: shells around the rooms below, which convert, call and publish.  Imports every room below but ``estimation``; the
only room that imports rclpy and messages.
"""

__all__ = ["pick_topic", "region", "runtime"]
