"""The server as programs see it: what is answered, with which headers; readers that do not read."""

import contextlib
import gc
import http.client
import itertools
import select
import socket
import time

import pytest
from view_pages import Page, Told
from waiting import PATIENCE_S, until

from picker_dynamics.errors import LinkError, MissingDependencyError
from picker_dynamics.scripting.view import server as server_module
from picker_dynamics.scripting.view.channel import Channel
from picker_dynamics.scripting.view.server import ViewServer


class Viewed:
    """Something to show that does nothing."""

    def __init__(self):
        self.channel, self.stops, self.asked = Channel(), 0, []

    def picture(self):
        return {"name": "stand-in"}

    def listed_tours(self):
        return {}

    def region(self):
        return {}

    def mesh(self, number):
        return None

    def stop(self):
        self.stops += 1
        return "stopped"

    def seen(self):
        return "0 0.0"

    def do(self, asked, page, seen):
        self.asked.append((asked, page))
        return {}

    def check(self, asked):
        return {"possible": True}


@pytest.fixture
def viewed():
    return Viewed()


@pytest.fixture
def server(viewed, tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("<!doctype html>")
    (tmp_path / "app.js").write_text("// nothing")
    monkeypatch.setattr(server_module, "PAGE", tmp_path)
    with ViewServer(viewed) as made:
        yield made


def test_the_page_and_its_headers(server):
    status, body, answer = Page(server).ask("/")
    assert status == 200 and answer.getheader("Content-Encoding") == "gzip" and body
    policy = answer.getheader("Content-Security-Policy")
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert answer.getheader("Access-Control-Allow-Origin") is None and answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Content-Type") == "text/html; charset=utf-8"
    status, _, answer = Page(server).ask("/app.js")
    assert (status, answer.getheader("Content-Type")) == (200, "text/javascript; charset=utf-8")


@pytest.mark.parametrize(
    "path", ["/index.html", "/nothing.js", "/../server.py", "/%2e%2e/server.py", "/api/mesh/0", "/api/mesh/x"]
)
def test_there_is_nothing_else(server, path):
    assert Page(server).ask(path)[0] == 404


def test_requests_and_refusals(server, viewed):
    page = Page(server)
    assert page.ask("/api/arm")[:2] == (200, {"name": "stand-in"})
    page.done("home")
    assert viewed.asked[0][1] == page.lines["X-Page"]
    assert "there is no request 'fly'" in page.refused("fly")["error"]
    assert page.ask("/api/check", {"do": "tip", "at": [0, 0, 0]})[1] == {"possible": True}
    assert page.ask("/api/check", {"do": "home"})[0] == 404
    assert page.ask("/api/do", {"do": "home"}, Origin="http://evil.example")[0] == 403
    assert page.ask("/api/do", {"do": "home"}, Host="evil.example")[0] == 421
    assert page.ask("/api/do", {"do": "home"}, Authorization="Bearer no")[0] == 401
    assert len(viewed.asked) == 1


def test_streams_end_with_the_server_and_one_that_is_not_read_delays_nobody_and_is_left(server, viewed, monkeypatch):
    """More is told than lies in any buffer, each of it is heard by who reads, and a stop is answered."""
    monkeypatch.setattr(server_module, "WRITE_S", 0.2)
    numbers, text, page = itertools.count(1), "x" * 200_000, Page(server, f"{1:016x}")
    asleep = Page(server).stream()
    until(lambda: viewed.channel.readers, "a reader")
    awake = Told(page)

    def told() -> bool:
        number = next(numbers)
        viewed.channel.tell("pose", {"number": number, "text": text})
        until(lambda: awake.newest.get("pose", {}).get("number") == number, "news")
        return len(viewed.channel.readers) == 1

    until(told, "its end")
    assert page.ask("/api/stop", {})[0] == 200 and viewed.stops == 1
    asleep.close()
    viewed.channel.close()
    until(lambda: not viewed.channel.readers, "the end of all")


def silent(server, count: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", server.door.port)) for _ in range(count)]


def are_cut(streams) -> int:
    """How many of these connections the server has ended or answered."""
    return len(select.select(streams, [], [], 0.0)[0])


def test_of_too_many_strangers_the_oldest_is_closed_and_who_has_said_the_token_is_none(server, viewed, monkeypatch):
    monkeypatch.setattr(server_module, "STRANGERS", 20)
    monkeypatch.setattr(server_module, "REQUEST_S", 600.0)
    page, known = Page(server), http.client.HTTPConnection("127.0.0.1", server.door.port, timeout=PATIENCE_S)

    def answered() -> bytes:
        known.request("POST", "/api/stop", "{}", page.lines)
        return known.getresponse().read()

    with contextlib.closing(known), contextlib.ExitStack() as held:
        assert answered()
        streams = [held.enter_context(one) for one in silent(server, 100)]
        until(lambda: are_cut(streams) == 80, lambda: f"{are_cut(streams)} of 100 closed")
        assert are_cut(streams[:80]) == 80, "the oldest ones"
        assert answered() and page.ask("/api/stop", {})[0] == 200 and viewed.stops == 3


def test_a_stop_does_not_wait_for_strangers_who_all_ask_at_once(server, viewed, monkeypatch):
    """Counted, not timed: four of them are answered a second, and a stop that comes last long before all are."""
    monkeypatch.setattr(server_module, "PACE_S", 1.0)
    with contextlib.ExitStack() as held:
        streams = [held.enter_context(one) for one in silent(server, 200)]
        for one in streams:
            one.sendall(b"GET /app.js HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.door.port)
        assert Page(server).ask("/api/stop", {})[0] == 200 and viewed.stops == 1
        assert are_cut(streams) < 100
        until(lambda: are_cut(streams) > 4, "answers to strangers, too")


def test_connections_that_are_cut_leave_nothing_to_collect(server, monkeypatch):
    """Python collects with all threads standing still: what 500 silent strangers left took 0.5 s, and a stop waited."""
    monkeypatch.setattr(server_module, "REQUEST_S", 0.2)
    gc.collect()
    gc.disable()
    try:
        with contextlib.ExitStack() as held:
            streams = [held.enter_context(one) for one in silent(server, 100)]
            until(lambda: are_cut(streams) == 100, lambda: f"{are_cut(streams)} of 100 cut")
        assert gc.collect() < 200, "20 objects each, before"
    finally:
        gc.enable()


def test_who_sends_byte_by_byte_is_cut_before_and_after_the_token(server, monkeypatch):
    monkeypatch.setattr(server_module, "REQUEST_S", 0.3)
    lines = "".join(f"{name}: {value}\r\n" for name, value in Page(server).lines.items())
    begun_ = "POST /api/do HTTP/1.1\r\n" + lines + "Content-Length: 999\r\n\r\n"
    for first in (b"", begun_.encode()):
        (stream,) = silent(server, 1)
        with stream:
            stream.sendall(first)

            def drop(stream=stream) -> None:
                with contextlib.suppress(OSError):
                    stream.sendall(b"a")
                time.sleep(0.05)

            until(lambda stream=stream: are_cut([stream]), "its end", step=drop)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET / HTTP/1.1\r\nA: 1\r\nHost: {host}\r\nHost: evil.example", 400),
        ("GET / HTTP/1.1\r\nHost: {host}\r\nA: " + 40_000 * "a", 431),
        ("DELETE / HTTP/1.1\r\nHost: {host}", 501),
        ("GET / HTTP/1.0", 501),
        ("nothing", 501),
        ("POST /app.js HTTP/1.1\r\nHost: {host}\r\nContent-Length: x", 404),
    ],
)
def test_what_is_no_request_is_refused(server, head, status):
    (stream,) = silent(server, 1)
    with stream:
        stream.sendall(head.format(host=f"127.0.0.1:{server.door.port}").encode() + b"\r\n\r\n")
        stream.settimeout(PATIENCE_S)
        assert stream.recv(1000).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_port_that_is_taken_and_a_page_that_is_missing_are_said(server, viewed, tmp_path):
    with pytest.raises(LinkError, match=f"cannot serve a page at 127.0.0.1:{server.door.port}.*--view-port"):
        ViewServer(viewed, port=server.door.port)
    (tmp_path / "index.html").unlink()
    with pytest.raises(MissingDependencyError, match="'make setup' does"):
        ViewServer(viewed)
