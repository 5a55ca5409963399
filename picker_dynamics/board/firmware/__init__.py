"""Building the board's firmware for an arm: its header, from servo map and URDF, and the tools that compile it."""

BACKENDS = ("pca9685", "timer")
"""What makes the pulses: the chip, or the board's own timer."""
