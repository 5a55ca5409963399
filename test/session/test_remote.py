"""A session in the process and by a socket: the same calls, the same answers; and who floods, lies or leaves holds nothing up."""

import contextlib
import json
import os
import socket
import stat
import time

import numpy as np
import pytest
from served_arm import TOKEN, Running
from waiting import until

from picker_dynamics.board.request_gate import SETTLE_S
from picker_dynamics.errors import ConfigurationError, GoalCancelledError, GoalRefusedError, InputError, LinkError, PickerError
from picker_dynamics.session.address import listening
from picker_dynamics.session.remote import RemoteSession
from picker_dynamics.session.served import ServedSession
from picker_dynamics.session.server import LINE_BYTES, Server
from picker_dynamics.session.session import HANGS_S


@pytest.fixture
def running(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = Running()
    try:
        until(lambda: made.arm.controller.execution.active and made.report.entries, "an active arm")
        yield made
    finally:
        made.close()


@pytest.fixture
def client(running):
    with RemoteSession() as client:
        client.wait_holding()
        yield client


class InProcess:
    """A session in the process, called as one by the socket is."""

    def __init__(self, running: Running):
        self._served, self._gate = ServedSession(running.arm, running.report), running.arm.session.gate

    def call(self, name: str, /, **arguments):
        return json.loads(json.dumps(self._served.carry_out(name, arguments, self._gate.epoch)))


@pytest.fixture(params=["in the process", "by the socket", "over TCP"])
def session(request, running):
    if request.param == "in the process":
        yield InProcess(running)
    else:
        host = f"127.0.0.1:{running.port}" if request.param == "over TCP" else ""
        with RemoteSession(host=host, token=TOKEN) as made:
            yield made


def test_both_answer_alike(session, running):
    assert json.loads(session.call("arm"))["torque"]
    assert session.call("get", part="dynamics", names=["payload.mass", "nonsense"]) == [0.0, None]
    session.call("set", part="dynamics", values={"payload.mass": 0.1})
    assert session.call("get", part="dynamics", names=["payload.mass"]) == [0.1]
    assert session.call("snapshot")["payload"][0] == 0.1 and running.arm.controller.payload.mass == 0.1
    for part, values, said in (
        ("dynamics", {"payload.mass": 4.9}, "needs"),
        ("dynamics", {"payload.mass": "heavy"}, "must be of type float"),
        ("dynamics", {"payload.weight": 1.0}, "no setting"),
        ("trajectory_controller", {"rate_hz": 50.0}, "at the start only"),
        ("trajectory_controller", {"speed_scaling": 0.5, "tip_speed_limit": -1.0}, "tip_speed_limit is -1, must be 0.01 to 2"),
        ("elsewhere", {}, "there is no part"),
    ):
        with pytest.raises(PickerError, match=said):
            session.call("set", part=part, values=values)
    assert session.call("get", part="trajectory_controller", names=["speed_scaling"]) == [1.0], "all or nothing"
    with pytest.raises(InputError, match="no gripper"):
        session.call("grip", name="g", position=0.1)
    assert len(session.call("reference")) == 3 and session.call("setpoint") is None
    assert {one["name"] for one in session.call("diagnostics")} >= {"trajectory_controller", "dynamics", "hardware: drives"}
    assert session.call("stop").startswith("stopped")
    assert session.call("snapshot")["hardware"]["values"]["stop_latched"] == "true"
    with pytest.raises(PickerError, match="stop is latched"):
        session.call("enable", at_rest_pose=True)
    session.call("stop")
    begin_s = running.arm.clock.now()
    session.call("reset")  # named in the new epoch: it has seen the stop
    assert running.arm.session.gate.settling or running.arm.clock.now() - begin_s > SETTLE_S, "it waits for nothing"
    session.call("enable", at_rest_pose=True)
    until(lambda: running.arm.controller.active, "an enabled arm")


def test_a_client_moves_cancels_and_is_refused_with_joint_value_and_limit(client, running):
    start, joints = client.reference(), client.joints()
    assert joints["names"] == list(client.joint_names) and joints["units"] == ["rad", "rad", "m"]
    assert client.move({"theta1": 0.1}, relative=True, least_s=1.0) >= 1.0
    assert client.move({"theta1": float(start[0])}) >= 0.8
    np.testing.assert_allclose(client.reference(), start, atol=1e-9)
    took = client.move_to(0.5, start + [0.2, 0.0, 0.0])
    assert took >= 0.5 and abs(client.next_state()[0] - start[0] - 0.2) < 0.02
    with pytest.raises(GoalRefusedError) as refused:
        client.move_to(1.0, start + [99.0, 0.0, 0.0])
    assert refused.value.subject == client.joint_names[0] and refused.value.value and refused.value.limit
    name, _ = client.begin(client.message(5.0, start))
    with RemoteSession() as other, pytest.raises(GoalRefusedError, match="another client moves the arm"):
        other.move_to(1.0, start)
    client.cancel()
    with pytest.raises(GoalCancelledError):
        client.wait(lambda: client.ended(name), "the end")
    assert running.arm.controller.execution.phase.value == "holding"


def test_what_was_asked_before_a_stop_reset_or_enable_is_refused_after_it(client, running):
    """By whomever: the client stands still meanwhile, or its requests wait anywhere."""
    start, settings = client.reference(), {"speed_scaling": 0.5}
    with RemoteSession() as other:
        for ends in (other.stop, other.reset, lambda: other.enable(True)):
            with client.asking():
                ends()
                for act in (
                    lambda: client.submit(client.message(0.5, start + [0.2, 0.0, 0.0])),
                    lambda: client.submit(client.message(0.5, start), as_driver=True),
                    lambda: client.call("move", name="", joints={"theta1": 0.2}),
                    lambda: client.call("jog", driver=client.driver, seen_s=client.seen_s, joints={"theta1": 0.5}),
                    lambda: client.set("trajectory_controller", settings),
                    client.reset,
                    lambda: client.enable(True),
                    client.disable,
                ):
                    with pytest.raises(PickerError, match="after this was asked: look at the arm, then ask again"):
                        act()
    client.wait_holding()  # the client hears of it by itself
    np.testing.assert_allclose(client.reference(), start, atol=1e-9)
    assert client.call("get", part="trajectory_controller", names=list(settings)) == [1.0]
    with client.asking():
        for end in (client.stop, client.stop):  # whenever it was asked
            assert end().startswith("stopped")
    client.reset()
    client.enable(True)
    assert client.move_to(0.5, start + [0.1, 0.0, 0.0]) >= 0.5, "what is asked now"


def test_what_is_asked_within_counts_and_settings_are_given_back_after_a_stop_too(client, running):
    now = client.epoch
    with client.asking(now - 2), client.asking():
        assert client.epoch == now - 2
        with client.asking(now - 1):
            assert client.epoch == now - 1
        assert client.epoch == now - 2
    assert client.epoch == now
    part, names = "trajectory_controller", ["speed_scaling"]
    with RemoteSession() as other, client.asking():
        with pytest.raises(GoalRefusedError, match="after this was asked"), client.meanwhile(part, {names[0]: 0.5}):
            for end in (other.stop, other.reset, lambda: other.enable(True), other.wait_holding):
                end()
            client.move({"theta1": 0.2})
        assert client.call("get", part=part, names=names) == [1.0]


@pytest.mark.parametrize(("late_s", "said"), [(0.0, ""), (10.0, "the jog is .* s old, allowed 9.0 s")])
def test_a_jog_that_waited_is_dead(client, running, monkeypatch, late_s, said):
    monkeypatch.setattr("picker_dynamics.session.served.JOG_LATE_S", 9.0)  # a busy machine holds requests up
    client.take_arm()
    seen_s = running.arm.clock.now() - late_s
    with pytest.raises(PickerError, match=said) if said else contextlib.nullcontext():
        client.call("jog", driver=client.driver, seen_s=seen_s, joints={"theta1": 0.0})


def test_a_driver_has_the_arm_until_it_falls_silent(running, client, monkeypatch):
    monkeypatch.setattr("picker_dynamics.execution.driving.SILENCE_S", 1.0)  # a busy machine holds beats up
    with RemoteSession() as driver:
        driver.take_arm()
        goal = driver.submit(driver.message(0.5, driver.reference() + [0.1, 0.0, 0.0]), as_driver=True)
        driver.wait(lambda: goal in driver.outcomes and driver.ended(goal), "the step")
        with pytest.raises(GoalRefusedError, match="driver"):
            client.move_to(1.0, client.reference())
        driver.leave()
        with pytest.raises(GoalRefusedError, match="no longer drives"):
            driver.submit(driver.message(0.5, driver.reference()), as_driver=True)
        driver.take_arm()
        lease = running.arm.controller.execution.lease
        ends_s = time.monotonic() + 2.0 * HANGS_S
        while time.monotonic() < ends_s:  # who asks is there
            driver.payload()
            assert lease.holders
        until(lambda: not lease.holders, "its end: it neither asks nor waits")


def test_a_socket_is_this_users_alone_and_one_that_a_crash_left_is_replaced(running, tmp_path):
    assert stat.S_IMODE(os.stat(running.server.path).st_mode) == 0o600
    running.server.close()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(running.server.path))
    with pytest.raises(LinkError, match="no running arm answers"):
        RemoteSession()
    running.server = Server(running.arm, running.report, running.server.path)
    with RemoteSession() as client:
        assert client.joint_names == ("theta1", "theta2", "d3")


def test_a_stranger_over_tcp_hears_nothing_and_does_nothing(running):
    for wrong in ("", TOKEN[:-1], TOKEN + "x", "\udcff"):
        with pytest.raises(LinkError, match="wrong token"):
            RemoteSession(host=f"127.0.0.1:{running.port}", token=wrong)
    with pytest.raises(LinkError, match="no running arm answers at 127.0.0.1:1"):
        RemoteSession(host="127.0.0.1:1", token=TOKEN)
    for line in (b'{"call": "stop", "id": 7}', b"7", b"[" * 100_000, b"x" * (LINE_BYTES + 1)):
        with socket.create_connection(("127.0.0.1", running.port), 10.0) as stranger:
            with RemoteSession(host=f"127.0.0.1:{running.port}", token=TOKEN) as client:
                client.call("set", part="dynamics", values={"payload.mass": 0.1})
                client.next_state()
            heard = answer_to(line + b'\n{"call": "stop"}\n', running, stranger)
        assert heard.count(b"\n") == 1 and b"wrong token" in heard
    assert running.arm.controller.execution.active


def test_a_silent_stranger_over_tcp_is_left_and_of_many_the_oldest_for_the_newest(running, monkeypatch):
    monkeypatch.setattr("picker_dynamics.session.server.TOKEN_S", 0.5)
    monkeypatch.setattr("picker_dynamics.session.server.STRANGERS", 1)
    with contextlib.ExitStack() as open_:
        here = "127.0.0.1", running.port
        first, second = (open_.enter_context(socket.create_connection(here, 10.0)) for _ in range(2))
        assert first.recv(100) == b"" and b"token" in second.recv(1000)
        for _ in range(10):
            open_.enter_context(socket.create_connection(here, 10.0))
        with RemoteSession(host=f"127.0.0.1:{running.port}", token=TOKEN) as client:
            assert client.call("stop").startswith("stopped")
    with RemoteSession(host=f"127.0.0.1:{running.port}", token=TOKEN) as client:
        assert client.joint_names == ("theta1", "theta2", "d3")


@pytest.mark.parametrize(
    ("where", "token", "said"),
    [
        ("0.0.0.0:8643", "", "set PICKER_TOKEN to 16 characters or more"),
        ("0.0.0.0:8643", "fifteen letters", "anyone who reaches 0.0.0.0:8643 could move the arm"),
        ("8643", TOKEN, "PICKER_LISTEN is '8643', must be HOST:PORT"),
        ("robot:99999", TOKEN, "must be HOST:PORT"),
    ],
)
def test_an_arm_is_not_served_over_tcp_without_a_token(monkeypatch, where, token, said):
    monkeypatch.setenv("PICKER_LISTEN", where)
    monkeypatch.setenv("PICKER_TOKEN", token)
    with pytest.raises(ConfigurationError, match=said):
        listening()
    monkeypatch.setenv("PICKER_LISTEN", "[::1]:8643")
    monkeypatch.setenv("PICKER_TOKEN", TOKEN)
    assert listening() == (("::1", 8643), TOKEN)


def test_who_floods_lies_or_says_nothing_delays_no_cycle_and_is_answered_or_left(running, client):
    before = running.loop.cycles
    with contextlib.ExitStack() as open_:
        silent = [open_.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(60)]
        for one in silent:
            with contextlib.suppress(OSError):
                one.connect(str(running.server.path))
        time.sleep(0.2)
    for line, said in (
        (b"{}\n", "no call"),
        (b"[[[[\n", "no call"),
        (b"7\n", "no call"),
        (b'{"call": "_stopped"}\n', "there is no call"),
        (b'{"call": "get", "id": 1}\n', "missing"),
        (b'{"call": "reset", "id": 1}\n', "after this was asked"),
        (b'{"call": "reset", "id": 1, "epoch": null}\n', "no call: TypeError"),
        (b"x" * (LINE_BYTES + 1), "more than"),
    ):
        until(lambda line=line, said=said: said.encode() in answer_to(line, running), f"an answer that says {said!r}")
    client.move_to(0.3, client.reference())
    assert running.loop.cycles > before and running.loop.running


def answer_to(line: bytes, running: Running, stranger: socket.socket | None = None) -> bytes:
    """All that is heard until the error that a line gets; empty where none comes."""
    heard = b""
    with stranger or socket.socket(socket.AF_UNIX) as liar, contextlib.suppress(OSError):
        liar.settimeout(5.0)
        if stranger is None:
            liar.connect(str(running.server.path))
        liar.sendall(line)
        while b'"error"' not in heard and (part := liar.recv(65536)):
            heard += part
    return heard if b'"error"' in heard else b""


def test_who_asks_and_does_not_read_is_left(running, monkeypatch):
    monkeypatch.setattr("picker_dynamics.session.server.UNREAD_BYTES", 100_000)
    with socket.socket(socket.AF_UNIX) as lazy:
        lazy.settimeout(20.0)
        lazy.connect(str(running.server.path))
        with contextlib.suppress(ConnectionError):
            for _ in range(1000):
                lazy.sendall(b'{"call": "arm", "id": 1}\n')
            while lazy.recv(65536):
                pass
    assert running.loop.running


def test_a_client_notices_that_the_arms_process_has_ended(running, client):
    name, _ = client.begin(client.message(5.0, client.reference()))
    running.server.close()
    with pytest.raises(LinkError, match="ended|broke"):
        client.wait(lambda: client.ended(name), "the end", 5.0)
