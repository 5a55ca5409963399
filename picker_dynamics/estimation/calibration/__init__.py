"""Calibration: the numbers of an arm by inclinometer and ruler, by its own servos, or by a camera; ``picker calibrate``."""
