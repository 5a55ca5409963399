"""What people type, right and wrong."""

import math

from pytest import approx, mark, raises

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration.readings import TURN, doubt, reading

QUESTIONS = {"elevation": ("deg", -TURN, TURN), "along": ("mm", -0.3, 0.6)}


def typed(what, text):
    return reading(what, text, *QUESTIONS[what])


@mark.parametrize(
    "what, texts, value",
    [
        ("along", ("40", "40 mm", "4 cm", " 4e1 MM ", "40,0", "0.04 m"), 0.04),
        ("elevation", ("-12.5", "-12,5°", "-12.5 deg"), math.radians(-12.5)),
        ("elevation", ("52 mm at 300 mm", "52 at 300", "5.2 cm at 0.3 m"), math.atan2(52, 300)),
        ("along", ("-0.5", "-0.05 cm"), -5e-4),
    ],
)
def test_what_is_typed_is_understood(what, texts, value):
    for text in texts:
        assert typed(what, text) == approx(value, abs=1e-5), text


@mark.parametrize(
    "what, text, why",
    [
        ("along", "82 g", "unit 'g', must be one of"),
        ("along", "nan", "not a number"),
        ("along", "-400", "along is -400 mm, must be -300 to 600: another part, end or unit"),
        ("elevation", "400", "must be -360 to 360"),
        ("elevation", "12 mm", "must be one of"),
        ("along", "1.5 m", "along is 1500 mm, must be -300 to 600"),
    ],
)
def test_what_cannot_be_is_refused(what, text, why):
    with raises(InputError, match=why):
        typed(what, text)


def test_a_reading_far_from_what_is_expected_is_told_angles_across_the_half_turn():
    assert doubt("hand", *map(math.radians, (179.0, -179.0, 5.0)), "deg") == ""
    assert "hand is -50.0 deg, expected about 50.0: sign" in doubt("hand", *map(math.radians, (-50.0, 50.0, 12.0)), "deg")
    assert doubt("along", 0.094, 0.09, 0.022, "mm") == ""
    assert "along is 150.0 mm, expected about 90.0: sign" in doubt("along", 0.15, 0.09, 0.022, "mm")
