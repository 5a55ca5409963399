"""The ROS 2 nodes: thin shells around the pure modules, and the only place that imports rclpy and messages."""
