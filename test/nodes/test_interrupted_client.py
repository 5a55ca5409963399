"""Ctrl-C at any instant leaves a client that still hears the graph: to cancel a motion it has to."""

from __future__ import annotations

import os
import signal

import pytest
from ros_client.client import ArmClient
from ros_graph import own_domain
from std_msgs.msg import String
from waiting import until

pytestmark = pytest.mark.ros


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_client_that_is_interrupted_in_taking_a_message_hears_the_next(monkeypatch, number):
    made, interruptions = String.__init__, iter([number])

    def interrupted(message, **fields):
        for one in interruptions:
            os.kill(os.getpid(), one)
        made(message, **fields)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = {one: signal.signal(one, interrupt) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        with own_domain(), ArmClient(()) as client, client.hearing(String, "words") as heard:
            says = client.create_publisher(String, "words", 10)
            until(lambda: says.get_subscription_count() > 0, "discovery", step=lambda: client.spin_once(0.01))
            says.publish(String(data="first"))
            monkeypatch.setattr(String, "__init__", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.wait(lambda: "second" in [message.data for message in heard], "nothing interrupts")
            assert signal.getsignal(number) is interrupt
            says.publish(String(data="second"))
            client.wait(lambda: "second" in [message.data for message in heard], "it is deaf")
            assert [message.data for message in heard] == ["first", "second"]
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
