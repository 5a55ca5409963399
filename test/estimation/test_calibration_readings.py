"""What people type, right and wrong."""

import math

from pytest import approx, mark, raises

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration.readings import TURN, doubt, reading

QUESTIONS = {
    "hand": ("g", 0.02, 0.32),
    "balance point": ("mm", 0.0, 0.2),
    "elevation": ("deg", -TURN, TURN),
    "along": ("mm", -0.3, 0.6),
    "swings": ("s", 2.0, 100.0),
}


def typed(what, text):
    return reading(what, text, *QUESTIONS[what])


@mark.parametrize(
    "what, texts, value",
    [
        ("hand", ("82", "82 g", "0.082 kg", " 8.2e1 G ", "82000 mg", "82,0"), 0.082),
        ("balance point", ("40", "40 mm", "4 cm", "0.04 m"), 0.04),
        ("balance point", ("0",), 0.0),
        ("elevation", ("-12.5", "-12,5°", "-12.5 deg"), math.radians(-12.5)),
        ("elevation", ("52 mm at 300 mm", "52 at 300", "5.2 cm at 0.3 m"), math.atan2(52, 300)),
        ("along", ("-0.5", "-0.05 cm"), -5e-4),
        ("swings", ("20 swings in 11.4 s", "20 in 11.4", "11.4", "20x in 11,4 s", "10: 5.7", "11400 ms"), 11.4),
    ],
)
def test_what_is_typed_is_understood(what, texts, value):
    for text in texts:
        assert typed(what, text) == approx(value, abs=1e-5), text


@mark.parametrize(
    "what, text, why",
    [
        ("hand", "0.082", "hand is 0.082 g, must be 20 to 320: another part, end or unit"),
        ("hand", "82 kg", "another part, end or unit"),
        ("hand", "82 mm", "unit 'mm', must be one of g, kg, mg"),
        ("hand", "nan", "not a number"),
        ("balance point", "-40", "must be 0 to 200"),
        ("balance point", "0.04", "balance point is 0.04 mm"),
        ("elevation", "400", "must be -360 to 360"),
        ("elevation", "12 mm", "must be one of"),
        ("along", "1.5 m", "along is 1500 mm, must be -300 to 600"),
        ("swings", "2 in 1.1", "2 swings, must be at least 5"),
        ("swings", "20 in 0.57", "swings is 0.57 s, must be 2 to 100"),
        ("swings", "-20 in 11", "not a number"),
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
