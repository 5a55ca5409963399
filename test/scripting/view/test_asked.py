"""What a page asks: few kinds of requests, every number bounded, all else refused by name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.errors import InputError
from picker_dynamics.scripting.view import asked


def read(**values) -> asked.Asked:
    return asked.read(json.dumps(values).encode())


def test_each_kind_of_request():
    assert read(do="home") == asked.Plain("home")
    assert read(do="drive", over=True) == asked.Plain("drive", over=True)
    assert read(do="joints", to={"base": 0.3}) == asked.ToJoints({"base": 0.3})
    assert read(do="tip", at=[0.26, 0.08, 0.17], straight=True) == asked.ToTip((0.26, 0.08, 0.17), None, True)
    assert read(do="tip", at=[0, 0, 1], pitch=-0.3) == asked.ToTip((0.0, 0.0, 1.0), -0.3)
    assert read(do="step", joint="base", by=0.1) == asked.Step("base", 0.1)
    assert read(do="jog") == asked.Jog({}) and not read(do="jog").moves
    assert read(do="jog", linear=[0, 0, -0.05], tool=True).moves
    assert read(do="payload", kg=0.025) == asked.Setting("payload", 0.025)
    assert read(do="compensation", mode="none") == asked.Setting("compensation", "none")
    assert read(do="tour", name="two berries", loop=3) == asked.Tour("two berries", 3)
    assert read(do="pick", at=[0.26, 0.08, 0.17]) == asked.Pick((0.26, 0.08, 0.17), None, 0.025)
    assert read(do="pick", at=[0, 0, 1], pitch=-0.3, kg=0.0) == asked.Pick((0.0, 0.0, 1.0), -0.3, 0.0)
    assert read(do="place", at=[0, 0, 1]) == asked.Pick((0.0, 0.0, 1.0), place=True)


@pytest.mark.parametrize(
    "values, said",
    [
        ({}, "there is no request"),
        ({"do": "relax"}, "there is no request"),
        ({"do": ["home"]}, "there is no request"),
        ({"do": "home", "over": "yes"}, "over is true or false"),
        ({"do": "home", "twice": 2}, "'twice' means nothing"),
        ({"do": "joints"}, "to must be joints by name"),
        ({"do": "joints", "to": {"base": True}}, "base must be a number"),
        ({"do": "joints", "to": {"base": "1"}}, "base must be a number"),
        ({"do": "joints", "to": {str(k): 0.0 for k in range(33)}}, "to must be joints by name"),
        ({"do": "tip", "at": [0, 1]}, "at must be three numbers"),
        ({"do": "tip", "at": [0, 1, 11]}, "at must be a number from -10 to 10"),
        ({"do": "step", "tip": [0, 0, 0.2]}, "tip must be a number from -0.1 to 0.1"),
        ({"do": "payload", "kg": -0.1}, "kg must be a number from 0 to 5"),
        ({"do": "speed", "share": 1.01}, "share must be a number from 0 to 1"),
        ({"do": "compensation", "mode": "most"}, "compensation is none, gravity or full"),
        ({"do": "tour", "name": "../etc/passwd"}, "tour: the name"),
        ({"do": "tour", "name": ".hidden"}, "tour: the name"),
        ({"do": "pick", "at": [0, 1]}, "at must be three numbers"),
        ({"do": "pick", "at": [0, 0, 1], "kg": 5.1}, "kg must be a number from 0 to 5"),
        ({"do": "place", "at": [0, 0, 1], "kg": 0.1}, "'kg' means nothing"),
    ],
)
def test_all_else_is_refused_by_name(values, said):
    with pytest.raises(InputError, match=said.replace(".", r"\.")):
        read(**values)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"1", b"{", b'{"do": "payload", "kg": NaN}', b'{"do": "payload", "kg": 1e999}', b"[" * 9000]
)
def test_what_is_no_request_is_an_input_error(body):
    with pytest.raises(InputError):
        asked.read(body)


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["do", "to", "at", "by", "kg", "name", "linear"]) | st.text(max_size=5), inner, max_size=4
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_whatever_comes_is_a_request_or_an_input_error(body):
    try:
        asked.read(body)
    except InputError as error:
        assert len(str(error)) < 1100
