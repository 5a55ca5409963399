"""What people are told of joints: degrees and millimetres, with as many digits as a difference needs to be seen."""

import math

import pytest

from picker_dynamics.robot.units import figure, told


@pytest.mark.parametrize(
    ("value", "unit", "beside", "said"),
    [
        (math.pi, "rad", None, "180.0 deg"),
        (-0.0352, "m", None, "-35.2 mm"),
        (1.20005, "rad", 1.2, "68.7578 deg"),
        (1.2, "rad", 1.20005, "68.7549 deg"),
        (1.2, "rad", 1.2, "68.8 deg"),
        (0.4, "m", 0.3, "400.0 mm"),
        (0.30000002, "m", 0.3, "300.000020 mm"),
        (-1e-5, "rad", None, "0.0 deg"),
        (math.inf, "rad", 1.0, "inf deg"),
        (math.nan, "rad", 1.0, "nan deg"),
    ],
)
def test_degrees_and_millimetres(value, unit, beside, said):
    assert told(value, unit, beside) == said


@pytest.mark.parametrize(
    "value, beside, said", [(0.64, 0.7, "0.64"), (0.6412, 0.64, "0.6412"), (0.64, 0.6412, "0.6400"), (1.0, 1.0, "1.00")]
)
def test_a_value_shows_that_it_differs_from_its_limit(value, beside, said):
    assert figure(value, beside) == said
