"""What people type, right and wrong."""

import math

from pytest import approx, mark, raises

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration import readings

READERS = {
    "mass": lambda text: readings.mass("hand", text, 0.08),
    "length": lambda text: readings.length("balance point", text, 0.2),
    "angle": lambda text: math.degrees(readings.angle("hand", text)),
    "place": lambda text: readings.place("along", text, 0.0, 0.3),
    "swings": lambda text: readings.swings("hand", text),
}
ACROSS = math.degrees(math.atan2(52, 300))


@mark.parametrize(
    "kind, texts, value",
    [
        ("mass", ("82", "82 g", "0.082 kg", " 8.2e1 G ", "82000 mg", "82,0"), 0.082),
        ("length", ("40", "40 mm", "4 cm", "0.04 m"), 0.04),
        ("length", ("0",), 0.0),
        ("angle", ("-12.5", "-12,5°", "-12.5 deg"), -12.5),
        ("angle", ("1.5707963 rad",), 90.0),
        ("angle", ("52 mm at 300 mm", "52 at 300", "5.2 cm at 0.3 m"), ACROSS),
        ("place", ("94", "9.4 cm"), 0.094),
        ("swings", ("20 swings in 11.4 s", "20 in 11.4", "11.4", "20x in 11,4 s", "20: 11.4", "11400 ms"), (20, 11.4)),
    ],
)
def test_what_is_typed_is_understood(kind, texts, value):
    for text in texts:
        assert READERS[kind](text) == approx(value, abs=1e-5), text


@mark.parametrize(
    "kind, text, why",
    [
        ("mass", "0", "hand is 0 g, must be 20 to 320, and the URDF has 80"),
        ("mass", "0.082", "or another unit"),
        ("mass", "82 kg", "or another unit"),
        ("mass", "82 mm", "'mm' is none of g, kg, mg"),
        ("mass", "nan", "no number"),
        ("mass", "800", "the URDF has 80: another part, or another unit"),
        ("length", "-40", "must be 0, or 1 to 200"),
        ("length", "0.04", "balance point is 0.04 mm"),
        ("length", "300", "another unit, or end"),
        ("angle", "400", "must be within one turn"),
        ("angle", "0 at 0", "both lengths are 0"),
        ("angle", "12 mm", "none of"),
        ("place", "1.5 m", "along at 1500 mm: it goes from 0 to 300"),
        ("swings", "2 in 1.1", "2 swings, must be at least 5"),
        ("swings", "20 in 0.57", "the time of all of them"),
        ("swings", "-20 in 11", "not of the form 20 swings in 11.4 s"),
    ],
)
def test_what_cannot_be_is_refused(kind, text, why):
    with raises(InputError, match=why):
        READERS[kind](text)


def test_a_reading_far_from_what_is_expected_is_told_angles_across_the_half_turn():
    assert readings.near("hand", math.radians(179.0), math.radians(-179.0), math.radians(5.0)) == ""
    assert "hand is -50.0 deg, expected about 50.0 deg" in readings.near("hand", *map(math.radians, (-50.0, 50.0, 12.0)))
    assert readings.near("along", 0.094, 0.09, 0.022, "m") == ""
    assert "along is 150.0 mm, expected about 90.0 mm" in readings.near("along", 0.15, 0.09, 0.022, "m")
