"""Which page drives, and what readers get of what is told, however slow they are."""

import json

from picker_dynamics.scripting.view.arm_view import GONE_S, IDLE_S, Wheel
from picker_dynamics.scripting.view.channel import Channel


def test_a_page_whose_stream_ends_is_idle_after_a_moment_and_one_that_asks_for_nothing_later():
    wheel = Wheel()
    assert not wheel.is_idle(set(), 1e6), "nobody drives"
    wheel.take("a.1", 0.0)
    assert not wheel.is_idle({"a"}, 5.0) and not wheel.is_idle(set(), 5.0 + 0.9 * GONE_S)
    assert wheel.is_idle({"b"}, 5.1 + GONE_S)
    assert not wheel.is_idle({"a"}, IDLE_S - 1.0) and wheel.is_idle({"a"}, IDLE_S + 1.0)
    assert not wheel.is_idle({"a"}, IDLE_S + 1.0, busy=True), "what it asked for goes on"
    assert not wheel.is_idle({"a"}, 2.0 * IDLE_S) and wheel.is_idle({"a"}, 2.0 * IDLE_S + 2.0)


def events(data: bytes) -> list[tuple[str, dict]]:
    parts = (part.split("\n") for part in data.decode().split("\n\n") if part and part != ":")
    return [(kind.removeprefix("event: "), json.loads(value.removeprefix("data: "))) for kind, value in parts]


def test_a_reader_gets_the_newest_of_each_kind_and_the_words_before():
    channel = Channel()
    channel.tell("pose", {"t": 1})
    channel.tell("said", {"text": "first"})
    channel.tell("pose", {"t": 2})
    reader = channel.read("a")
    assert [(kind, value.get("t") or value["text"]) for kind, value in events(next(reader))] == [("said", "first"), ("pose", 2)]
    for t in range(3, 3000):
        channel.tell("pose", {"t": t})
    channel.tell("said", {"text": "second"})
    assert [(kind, value.get("t") or value["text"]) for kind, value in events(next(reader))] == [
        ("pose", 2999),
        ("said", "second"),
    ]
