"""Checks of what a parsed file holds."""

import math
import re

from pytest import mark, raises

from picker_dynamics.errors import ConfigurationError, InputError
from picker_dynamics.files.fields import number


@mark.parametrize(
    ("value", "said"),
    [
        (True, "is True, must be a finite number"),
        ("soft", "is 'soft', must be a finite number"),
        (None, "is None, must be a finite number"),
        (math.nan, "is nan, must be a finite number"),
        (10**400, "is inf, must be a finite number"),
        (-1, "is -1, must be > 0"),
        (0, "is 0, must be > 0"),
        (2.5, "is 2.5, must be <= 2"),
    ],
)
def test_a_number_is_finite_and_within_its_bounds(value, said):
    with raises(ConfigurationError, match=re.escape(f"arm: mass {said}")) as caught:
        number(value, "arm: mass", (0.0, False, 2.0), "mass")
    assert (caught.value.subject, caught.value.limit) == ("mass", {"> 0": 0.0, "<= 2": 2.0}.get(said.partition("must be ")[2]))
    with raises(InputError, match="must be >= 0"):
        number(-1, "mass", (0.0, True, 2.0), error=InputError)
    assert number(2, "mass", (0.0, True, 2.0)) == 2.0 and number(0, "mass", (0.0, True, 2.0)) == 0.0
