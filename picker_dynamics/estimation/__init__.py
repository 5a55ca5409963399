"""Finding the numbers of an arm: calibration without encoders, identification of dynamic parameters, and the closed loop of
both on the simulated arm.  Imports all rooms below; moves real arms only through what ``commands`` hand it.
"""

__all__ = ["calibration", "closed_loop", "identification"]
