"""Finding the numbers of an arm: calibration without encoders, the payload, identification of dynamic parameters, and the
closed loop of all on the simulated arm.  Imports all rooms below; moves real arms only through what ``commands`` hand it.
"""

__all__ = ["calibration", "closed_loop", "hidden_arm", "identification", "payload", "rehearsal", "urdf_text"]
