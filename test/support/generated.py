"""How many sequences are generated, and whether the same ones each time: thousands by ``--hypothesis-profile long``."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

LONG = settings().max_examples >= 1000


def share(usually: int, of_long: float) -> settings:
    """So many each time, always the same; in the long run that share of its number, by chance."""
    return settings(
        max_examples=round(of_long * settings().max_examples) if LONG else usually,
        derandomize=not LONG,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def numbers(low: float, high: float, step: float = 0.01):
    """Few digits, so that a sequence can be read."""
    return st.integers(math.ceil(low / step), math.floor(high / step)).map(lambda k: round(k * step, 6))
