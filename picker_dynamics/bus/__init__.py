"""Bus servos, which take goals and measure where they are: their registers as data, frames, the line that they share, and the
session that commands them.  Imports ``board``, ``control`` and ``robot``.
"""

__all__ = ["bus_session", "dialects", "frames", "goal_sender", "transport", "upkeep"]
