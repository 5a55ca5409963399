"""A client of an arm by its ROS topics, services and parameters alone, as somebody else would write one."""
