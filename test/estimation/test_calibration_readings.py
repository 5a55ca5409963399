"""What people type, right and wrong."""

import math

from pytest import approx, mark, raises

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration import readings


@mark.parametrize(
    "text, kilograms",
    [("82", 0.082), ("82 g", 0.082), ("0.082 kg", 0.082), ("82,5g", 0.0825), (" 1.2e2 G ", 0.12), ("82000 mg", 0.082)],
)
def test_masses(text, kilograms):
    assert readings.mass("hand", text) == approx(kilograms)


@mark.parametrize(
    "text, why",
    [
        ("-3", "-3 g, must be above 0: was the scale set to zero"),
        ("0", "must be above 0"),
        ("0.082", "were these kilograms. then type 82 g"),
        ("82 kg", "must be at most 3: are these grams"),
        ("82 mm", "'mm' is none of g, kg, mg"),
        ("eighty", "is no number; for example: 12.3 g"),
        ("nan", "no number"),
        ("", "no number"),
        ("82 82", "no number"),
        ("800", "the URDF has 80 g: another part, or another unit"),
    ],
)
def test_masses_that_cannot_be(text, why):
    with raises(InputError, match=why):
        readings.mass("hand", text, 0.08)


@mark.parametrize("text, metres", [("40", 0.04), ("40 mm", 0.04), ("4 cm", 0.04), ("0.04 m", 0.04), ("0", 0.0)])
def test_lengths(text, metres):
    assert readings.length("balance point", text, 0.2) == approx(metres)


@mark.parametrize(
    "text, why",
    [
        ("-40", "must not be negative"),
        ("0.04", "were these metres. then type 40 mm"),
        ("40 m", "the part reaches 200 mm"),
        ("300", "the part reaches 200 mm: another unit, or from the other end"),
        ("40 g", "none of mm, cm, m"),
    ],
)
def test_lengths_that_cannot_be(text, why):
    with raises(InputError, match=why):
        readings.length("balance point", text, 0.2)


@mark.parametrize(
    "text, degrees",
    [
        ("-12.5", -12.5),
        ("12.5 deg", 12.5),
        ("12,5°", 12.5),
        ("1.5708 rad", 90.0),
        ("52 mm at 300 mm", math.degrees(math.atan2(52, 300))),
        ("-52 at 300", -math.degrees(math.atan2(52, 300))),
        ("5.2 cm at 0.3 m", math.degrees(math.atan2(52, 300))),
    ],
)
def test_angles(text, degrees):
    assert math.degrees(readings.angle("hand", text)) == approx(degrees, abs=1e-3)


@mark.parametrize("text", ["400", "up", "12 mm", "0 at 0", "12 rad"])
def test_angles_that_cannot_be(text):
    with raises(InputError):
        readings.angle("hand", text)


@mark.parametrize(
    "text, found",
    [
        ("20 swings in 11.4 s", (20, 11.4)),
        ("20 in 11.4", (20, 11.4)),
        ("11.4", (20, 11.4)),
        ("10x in 5,7 s", (10, 5.7)),
        ("10: 5.7", (10, 5.7)),
        ("11400 ms", (20, 11.4)),
    ],
)
def test_swings(text, found):
    assert readings.swings("hand", text) == approx(found)


@mark.parametrize(
    "text, why",
    [
        ("2 in 1.1", "2 swings, must be at least 5"),
        ("20 in 0.57", "the time of all of them"),
        ("20 in 1000", "50 s each"),
        ("twenty", "not of the form 20 swings in 11.4 s"),
        ("-20 in 11", "not of the form"),
    ],
)
def test_swings_that_cannot_be(text, why):
    with raises(InputError, match=why):
        readings.swings("hand", text)


def test_pulses():
    assert readings.pulse("pulse", "1327") == readings.pulse("pulse", "1.327 ms") == 1327.0
    with raises(InputError, match="were these ms. then type 1500 us"):
        readings.pulse("pulse", "1.5")
    with raises(InputError, match="servo pulses are 500 to 2500 us long"):
        readings.pulse("pulse", "50")


@mark.parametrize(
    "degrees, why",
    [
        (-50.0, "the sign"),
        (40.0, ""),
        (math.radians(50.0), "is it in rad"),
        (-130.0, "the other end"),
        (130.0, "then type 180 minus that"),
        (90.0, "another link"),
    ],
)
def test_what_an_odd_angle_probably_is(degrees, why):
    said = readings.near("hand", math.radians(degrees), math.radians(50.0), math.radians(12.0))
    assert why in said and bool(why) == bool(said)


def test_angles_are_compared_across_the_half_turn():
    assert readings.near("hand", math.radians(179.0), math.radians(-179.0), math.radians(5.0)) == ""
