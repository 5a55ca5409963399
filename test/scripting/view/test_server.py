"""The server as programs see it: what is answered, with which headers; readers that do not read."""

from __future__ import annotations

import itertools

import pytest
from view_pages import Page, Told
from waiting import until

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

    def mesh(self, number):
        return None

    def stop(self):
        self.stops += 1
        return "stopped"

    def do(self, asked, page):
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


def test_a_port_that_is_taken_and_a_page_that_is_missing_are_said(server, viewed, tmp_path):
    with pytest.raises(LinkError, match=f"cannot serve a page at 127.0.0.1:{server.door.port}.*--view-port"):
        ViewServer(viewed, port=server.door.port)
    (tmp_path / "index.html").unlink()
    with pytest.raises(MissingDependencyError, match="'make setup' does"):
        ViewServer(viewed)
