"""Numbers that an ``Arm`` is given: what is none, whatever ``float`` makes of it, is one clear error, and nothing moves."""

import inspect
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from arm_fixtures import servos

from picker_dynamics import Arm, Waypoint
from picker_dynamics.errors import InputError, PickerError

HOME, TIP = list(servos().home), (0.26, 0.08, 0.17)

NONE = {
    "true": True,
    "true of numpy": np.True_,
    "bytes": b"1",
    "bytearray": bytearray(b"1"),
    "text": "1",
    "text of numpy": np.str_("1"),
    "masked": np.ma.masked,
    "masked array": np.ma.array(0.1, mask=True),
    "too large": 10**400,
    "fraction too large": Fraction(-(10**400)),
    "nan": float("nan"),
    "signalling": Decimal("sNaN"),
    "infinite": np.float64("inf"),
    "complex": 1j,
    "row": [0.1],
    "row of numpy": np.array([0.1]),
    "time": np.timedelta64(1, "s"),
    "object": object(),
}
NUMBERS = {"int": 0, "numpy": np.float32(0.0), "int of numpy": np.int16(0), "no axes": np.array(0.0)}
NUMBERS |= {"fraction": Fraction(0, 3), "decimal": Decimal("0")}


def _of(method, name, vector=None, /, **fixed):
    """Ask for something with a value in place of one argument, or of an entry of it."""

    def ask(arm, value):
        given = value if vector is None else [*vector[:1], value, *vector[2:]]
        return getattr(arm, method)(**fixed, **{name: given})

    return ask


MOVES = {"q": (HOME, {}), "tip": (TIP, {}), "direction": ([1.0, 0.0, 0.0], {"tip": TIP})}
MOVES |= {"pitch": (None, {"tip": TIP}), "duration": (None, {"base": 0.1}), "joints": (None, {})}
HANDLING = {
    name: (None, {"tip": TIP, "check": True}) for name in ("pitch", "mass", "approach", "lift", "opened", "closed", "settle")
}
HANDLING["tip"] = TIP, {"check": True}
GIVEN = {"move": MOVES, "plan": MOVES, "pick": HANDLING}
GIVEN["place"] = {name: HANDLING[name] for name in ("tip", "pitch", "lift", "opened", "settle")}
GIVEN["stream"] = {"q": (HOME, {}), "speed": (None, {"q": HOME})}
GIVEN |= {name: {"q": (HOME, {})} for name in ("tip_at", "gravity_torque", "jacobian", "mass_matrix", "offline")}
GIVEN["ik"] = {name: MOVES[name] for name in ("direction", "pitch")} | {"tip": (TIP, {})}
GIVEN |= {
    "guide": {"seconds": (None, {})},
    "wait": {"seconds": (None, {})},
    "grip": {"at": (None, {})},
    "view": {"port": (None, {"browser": False})},
}
GIVEN["replay"] = {name: (None, {"name": "nosuch"}) for name in ("speed", "loop")}
GIVEN["open"] = {"rate_hz": (None, {"port": "/dev/null"})}
GIVEN["simulated"] = {"plant_error": (None, {}), "seed": (None, {})}
ASKS = {
    f"{method}.{name}": _of(method, "base" if name == "joints" else name, vector, **fixed)
    for method, names in GIVEN.items()
    for name, (vector, fixed) in names.items()
}
MORE = {
    "payload": lambda arm, value: setattr(arm, "payload", value),
    "waypoint.blend": lambda arm, value: arm.plan(tip=TIP, via=[Waypoint((0.25, 0.0, 0.2), blend=value)]),
    "waypoint.pitch": lambda arm, value: arm.plan(tip=TIP, via=[Waypoint((0.25, 0.0, 0.2), pitch=value, straight=True)]),
    "waypoint.tip": lambda arm, value: arm.plan(tip=TIP, via=[Waypoint((0.25, value, 0.2))]),
    "via.tip": lambda arm, value: arm.plan(tip=TIP, via=[(0.25, value, 0.2)]),
    "waypoint.q": lambda arm, value: arm.plan(tip=TIP, via=[Waypoint(q=[value, *HOME[1:]])]),
    "straight.pitch": lambda arm, value: arm.plan(tip=TIP, pitch=value, straight=True),
}


@pytest.fixture(scope="module")
def arm():
    with Arm.simulated(real_time=False) as arm:
        yield arm


def test_no_number_of_an_arm_is_forgotten_here():
    found = {
        f"{method}.{one.name}"
        for method, function in inspect.getmembers(Arm, callable)
        if not method.startswith("_")
        for one in inspect.signature(function).parameters.values()
        if re.search(r"\b(float|int|ArrayLike)\b", str(one.annotation))
    }
    assert found - set(ASKS) == {"replay.first", "move.via", "plan.via"}, "a name, too: test_replay.py; waypoints, in MORE"
    assert not set(ASKS) - found


@pytest.mark.parametrize("which", [*ASKS, *MORE])
def test_what_is_no_number_is_one_clear_error_and_nothing_moves(arm, which):
    ask, name = (ASKS | MORE)[which], which.rpartition(".")[2]
    held, now_s, payload = arm.held, arm.session.now_s, arm.payload
    for value in NONE.values():
        with warnings.catch_warnings(), pytest.raises(PickerError) as caught:
            warnings.simplefilter("error")
            ask(arm, value)
        text = str(caught.value)
        assert re.match(r"(refused: |parameter )?(base|payload|" + name + r")(\[\d\])?( is | has rows)", text), text
        assert isinstance(caught.value, InputError) or which == "open.rate_hz"
        assert "\n" not in text and len(text) < 200
    assert (arm.held == held).all() and arm.session.now_s == now_s and arm.payload == payload


@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_every_kind_are_taken(value):
    q = [value, *HOME[1:]]
    with Arm.offline(q=[0.1, *HOME[1:]]) as arm:
        for asked in ({"base": value}, {"q": q}, {"q": tuple(q)}, {"q": np.array(q, dtype=object)}):
            np.testing.assert_allclose(arm.plan(**asked).target, HOME, atol=1e-12)


def test_a_masked_row_is_none_and_an_unmasked_one_is():
    with Arm.offline() as arm:
        with pytest.raises(InputError, match=r"q\[2\] is masked"):
            arm.tip_at(np.ma.array(HOME, mask=[0, 0, 1, 0, 0]))
        with pytest.raises(InputError, match=r"q\[0\] is (np\.)?True"):
            arm.tip_at(np.ones(5, dtype=bool))
        np.testing.assert_allclose(arm.tip_at(np.ma.array(HOME)), arm.tip)


@pytest.mark.parametrize(
    "ask, said",
    [
        (lambda arm: arm.move(base=0.1, duration=1e-300), "duration is 1e-300 s, must be >= 0.01"),
        (lambda arm: arm.move(tip=TIP, straight=True, duration=-1), "duration is -1 s, must be >= 0.01"),
        (lambda arm: arm.pick(TIP, settle=1e9, check=True), "settle is 1000000000 s, must be <= 600"),
        (lambda arm: arm.wait(1e9), "seconds is 1000000000 s, must be <= 600"),
        (lambda arm: MORE["waypoint.blend"](arm, 1e-300), r"blend \(0: it stops\) is 1e-300 m, must be >= 0.0001"),
        (lambda arm: arm.replay("nosuch", loop=2.0), "loop is 2.0, must be a whole number, 1 to 1000"),
    ],
)
def test_what_is_out_of_bounds_is_told_with_value_and_bound(arm, ask, said):
    with pytest.raises(InputError, match=f"^{said}$"):
        ask(arm)


def test_an_arm_shows_where_it_is_and_answers_questions_of_students():
    with Arm.offline() as arm:
        q, model = arm.q, arm.model
        assert re.fullmatch(r"<Arm picker: base 0\.0 deg, .*; tip \(0\.\d+, -?0\.000, 0\.\d+\) m; offline>", repr(arm))
        step = 1e-6 * np.eye(5)
        numeric = np.column_stack([(arm.tip_at(q + one) - arm.tip_at(q - one)) / 2e-6 for one in step])
        np.testing.assert_allclose(arm.jacobian(), numeric, atol=1e-8)
        v = np.array([0.3, -0.2, 0.5, 0.1, 0.4])
        np.testing.assert_allclose(arm.mass_matrix() @ v, model.inverse_dynamics(q, 0 * v, v) - model.gravity(q), atol=1e-12)
        np.testing.assert_allclose(arm.tip_at(arm.ik((0.24, 0.05, 0.16))), (0.24, 0.05, 0.16), atol=1e-6)
    assert repr(arm) == "<Arm picker: closed>"


def test_the_gripper_is_opened_and_closed_by_name():
    with Arm.simulated(real_time=False) as arm:
        opened, touches = arm.known.grips()
        arm.close_gripper()
        assert arm.q[4] == pytest.approx(touches, abs=0.05)
        arm.open_gripper()
        assert arm.q[4] == pytest.approx(opened, abs=0.02)
