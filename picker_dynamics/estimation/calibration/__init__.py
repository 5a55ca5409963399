"""Calibration without encoders: the numbers of an arm from scale, ruler, stopwatch and inclinometer; ``picker calibrate``."""
