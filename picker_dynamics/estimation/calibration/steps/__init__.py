"""Steps of a calibration, in order: each a module with NAME, TITLE, MINUTES and ``run_step(context, estimate) -> estimate``.

A step asks for what is not on file and computes the rest from the answers, so walking it again with all answers on file asks
nothing and gives the same.
"""

from . import droop, limits, links, map, rest, result

STEPS = (links, map, limits, rest, droop, result)
"""``links`` comes first: taking the arm apart voids the zeros."""
