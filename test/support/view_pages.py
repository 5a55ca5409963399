"""Pages for tests of the view: one that asks over HTTP without a browser, and those in a headless Chromium, where it is here.

Waits in the browser are long: without a graphics card, on a busy machine, a picture takes seconds.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import time
from collections.abc import Iterator

import pytest
from waiting import PATIENCE_S, begun, until

from picker_dynamics.scripting.view.channel import Channel
from picker_dynamics.scripting.view.live import LiveView
from picker_dynamics.scripting.view.server import PAGE

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

WAIT_MS = 120_000
OPTIONS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--mute-audio"]
DRAWN = """() => {
  const canvas = document.createElement("canvas"), page = document.getElementById("canvas");
  canvas.width = 64; canvas.height = 48;
  picker.stage.renderer.render(picker.stage.scene, picker.stage.camera);
  const pen = canvas.getContext("2d");
  pen.drawImage(page, 0, 0, 64, 48);
  return new Set(new Uint32Array(pen.getImageData(0, 0, 64, 48).data.buffer)).size;
}"""
"""Colours in the picture of the arm."""


def unbuilt() -> str:
    """Why no page can be served; empty: one can."""
    return "" if (PAGE / "index.html").is_file() else "the page of picker view is not built: make setup"


def missing() -> str:
    """Why a browser test cannot run; empty: it can."""
    if why := unbuilt():
        return why
    if BROWSER is None:
        return "no Chromium: apt install chromium, or make apt"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "no Playwright: make setup"
    return ""


NEEDED = pytest.mark.skipif(bool(missing()), reason=missing())
"""A browser is."""


@contextlib.contextmanager
def chromium() -> Iterator:
    """A headless Chromium that draws by software."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=OPTIONS, timeout=WAIT_MS)
        yield browser
        browser.close()


class Tabs:
    """Opens pages of one address, each in a context of its own or in a given one; a context manager that closes them.

    A page notes which addresses it ``asked``, and what ``failed`` in it.
    """

    def __init__(self, browser, address: str):
        self.browser, self.address, self._contexts = browser, address, []

    def context(self, width: int = 1100, height: int = 800, **more):
        made = self.browser.new_context(viewport={"width": width, "height": height}, **more)
        self._contexts.append(made)
        return made

    def __call__(self, width: int = 1100, height: int = 800, address: str = "", context=None):
        page = (context or self.context(width, height)).new_page()
        page.set_default_timeout(WAIT_MS)
        page.asked, page.failed = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.failed.append(str(error)))
        page.goto(address or self.address)
        return page

    def __enter__(self) -> Tabs:
        return self

    def __exit__(self, *_exception) -> None:
        for context in self._contexts:
            context.close()


def shows(page, where: str, text: str) -> None:
    """Wait until it does."""
    page.locator(where, has_text=text).first.wait_for()


def hides(page, where: str) -> None:
    page.locator(where).wait_for(state="hidden")


def fill(page, **fields: str) -> None:
    for name, text in fields.items():
        page.fill(f"#{name}", text)


def press(page, button: str) -> None:
    """Hold the mouse down on it."""
    found = page.get_by_role("button", name=button)
    found.scroll_into_view_if_needed()
    box = found.bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()


def page_until(page, condition, what: str, **patience) -> None:
    """Let the page go on until ``condition()``."""
    until(condition, what, step=lambda: page.wait_for_timeout(50), **patience)


def with_arm(page):
    """The page, once it knows where the arm is."""
    shows(page, "#tip", "mm")
    return page


class Page:
    """Asks a server as a page does.

    Args:
        server: a ``ViewServer``.
        name: of the page.
    """

    def __init__(self, server, name: str = "0123456789abcdef.01"):
        self.door, self.seen = server.door, ""
        self.lines = {
            "Host": f"127.0.0.1:{self.door.port}",
            "Authorization": f"Bearer {self.door.token}",
            "X-Page": name,
            "Content-Type": "application/json",
        }

    def ask(self, path: str, what: object = None, method: str = "", **lines: str):
        """Status and answer of a POST, of a GET where nothing is asked; ``lines`` with _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=10.0)
        if what is not None and not self.seen:
            self.ask("/api/arm")
        headers = self.lines | {"X-Seen": self.seen} | {name.replace("_", "-"): value for name, value in lines.items()}
        body = None if what is None else json.dumps(what)
        try:
            connection.request(method or ("GET" if what is None else "POST"), path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            self.seen = answer.getheader("X-Seen") or self.seen
            return answer.status, json.loads(data) if data and "json" in answer.getheader("Content-Type", "") else data, answer
        finally:
            connection.close()

    def do(self, what: str, **more) -> tuple[int, dict]:
        """Ask for something to be done: status and answer."""
        return self.ask("/api/do", {"do": what, **more})[:2]

    def done(self, what: str, **more) -> dict:
        """The same where it is taken: the answer; again where the scenario before has just stopped the arm."""
        status, answer = self.do(what, **more)
        ends_s = time.monotonic() + PATIENCE_S
        while status == 409 and "the arm was stopped" in answer["error"] and time.monotonic() < ends_s:
            time.sleep(0.2)
            status, answer = self.do(what, **more)
        assert status == 200, answer
        return answer

    def refused(self, what: str, **more) -> dict:
        """The same where it is refused: the answer."""
        status, answer = self.do(what, **more)
        assert status == 409, answer
        return answer

    def stream(self):
        """The stream of events, as lines of bytes; to be closed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=PATIENCE_S)
        connection.request("GET", "/api/stream", headers=self.lines)
        return connection.getresponse()


class Told:
    """What the stream of a page tells, or a channel, read in a thread; made once what comes ``first`` has come.

    Attributes:
        newest: of each kind.
        said: texts of the events, in order.
    """

    def __init__(self, source: Page | Channel, *first: str):
        channel = isinstance(source, Channel)
        lines = (line for data in source.read("a") for line in data.splitlines(True)) if channel else source.stream()
        self.newest, self.said, self._stream = {}, [], lines
        begun(self._read)
        until(lambda: self.newest.keys() >= set(first), f"news: {first}")

    @property
    def phase(self) -> str:
        """Of the controller."""
        return self.newest["status"]["controller"]["phase"]

    def close(self) -> None:
        """Read no more, as a page that is closed."""
        self._stream.close()

    def _read(self) -> None:
        kind = ""
        for line in map(bytes.decode, self._stream):
            if line.startswith("event: "):
                kind = line[7:].strip()
            elif line.startswith("data: "):
                self.newest[kind] = json.loads(line[6:])
                if kind == "said":
                    self.said.append(self.newest[kind]["text"])


@contextlib.contextmanager
def served(view: LiveView) -> Iterator[LiveView]:
    """A view whose time a thread lets pass."""
    with view:
        thread = begun(view.run)
        yield view
    thread.join()
