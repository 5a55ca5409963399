"""Rules of docs/protocol.md, each a function that asks a board for it through frames, in simulated time.

They are asked of the firmware in Python and of the real one on a simulated Uno; ``mutants`` are firmwares that each break one.
"""

from . import motion, outputs, talk

RULES = {rule.__name__: rule for module in (talk, outputs, motion) for rule in module.rule.all}

__all__ = ["RULES"]
