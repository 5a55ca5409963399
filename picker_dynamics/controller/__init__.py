"""The control loop of one arm: read, update, write; the only owner of its hardware, on any clock, real or simulated.
Imports ``board``, ``bus``, ``control``, ``execution``, ``files``, ``robot`` and ``sim``.
"""

__all__ = ["connection", "controller", "hardware", "laws", "parameters", "settings", "simulated", "surroundings"]
