"""What a page asks: few kinds of requests, fields of known types, all else refused by name."""

import json

import pytest

from picker_dynamics.errors import InputError
from picker_dynamics.scripting.view import requests


def read(**values) -> requests.Request:
    return requests.read(json.dumps(values).encode())


@pytest.mark.parametrize(
    "values, fields",
    [
        ({"do": "home"}, {}),
        ({"do": "joints", "to": {"base": 0.3}}, {"to": {"base": 0.3}}),
        ({"do": "tip", "at": [0, 0, 1], "pitch": -0.3}, {"at": (0.0, 0.0, 1.0), "pitch": -0.3, "straight": False}),
        ({"do": "jog"}, {"joints": None, "linear": None, "angular": None, "frame": None}),
        ({"do": "tour", "name": "two berries", "loop": 3}, {"name": "two berries", "loop": 3.0}),
        ({"do": "grip", "open": True}, {"open": True}),
        ({"do": "pick", "at": [0, 0, 1]}, {"at": (0.0, 0.0, 1.0), "pitch": None, "mass": 0.025}),
    ],
)
def test_each_kind_of_request(values, fields):
    assert read(**values) == (values["do"], fields)


@pytest.mark.parametrize(
    "values, said",
    [
        ({}, "there is no request"),
        ({"do": "relax"}, "there is no request"),
        ({"do": "drive", "over": "yes"}, "over must be true or false"),
        ({"do": "home", "twice": 2}, "'twice' means nothing"),
        ({"do": "joints"}, "to must be joints by name"),
        ({"do": "joints", "to": {"base": True}}, "base is .*, must be a finite number"),
        ({"do": "joints", "to": {str(k): 0.0 for k in range(33)}}, "to must be joints by name"),
        ({"do": "tip", "at": [0, 1]}, "at must be three numbers"),
        ({"do": "payload"}, "kg is .*, must be a finite number"),
        ({"do": "speed", "share": 1e7}, "share is .*, must be <= 1e.06"),
        ({"do": "tour", "name": 3}, "name must be a name"),
    ],
)
def test_all_else_is_refused_by_name(values, said):
    with pytest.raises(InputError, match=said):
        read(**values)


TWICE = b'{"do": "home", "do": "park"}'


@pytest.mark.parametrize("body", [b"[]", b'{"do": "payload", "kg": NaN}', b'{"do": "payload", "kg": 1e999}', b"[" * 9000, TWICE])
def test_what_is_no_request_is_an_input_error(body):
    with pytest.raises(InputError):
        requests.read(body)
