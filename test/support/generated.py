"""How many sequences are generated, and whether the same ones each time: thousands by ``--hypothesis-profile long``."""

import math

import pytest
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


LIFE = 25
"""How many sequences follow each other in one life of an arm."""


def lives(usually: int):
    """Mark for a test of ``seed``, with ``LIFE`` sequences drawn by NumPy: so many in all, ten times as many in the long run."""
    return pytest.mark.parametrize("seed", range(usually * (10 if LONG else 1) // LIFE))
