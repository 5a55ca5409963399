"""Steps of a calibration, in order: each a module with NAME, TITLE, MINUTES, INTRODUCTION and ``run_step(context, estimate)``.

A step asks for what is not on file and computes the rest from the answers, so walking it again with all answers on file asks
nothing and gives the same.
"""

from . import droop, map, result

STEPS = (map, droop, result)
