"""Pages for tests of the view: one that asks over HTTP without a browser, and whether a browser and the built page are here."""

from __future__ import annotations

import http.client
import json
import shutil
import threading

from waiting import PATIENCE_S

from picker_dynamics.scripting.view.server import PAGE

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def missing() -> str:
    """Why a browser test cannot run; empty: it can."""
    if not (PAGE / "index.html").is_file():
        return "the page of picker view is not built: make setup"
    if BROWSER is None:
        return "no Chromium: apt install chromium, or make apt"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "no Playwright: make setup"
    return ""


class Page:
    """Asks a server as a page does.

    Args:
        server: a ``ViewServer``.
        name: of the page.
    """

    def __init__(self, server, name: str = "0123456789abcdef.01"):
        self.door = server.door
        self.lines = {
            "Host": f"127.0.0.1:{self.door.port}",
            "Authorization": f"Bearer {self.door.token}",
            "X-Page": name,
            "Content-Type": "application/json",
        }

    def ask(self, path: str, what: object = None, **lines: str):
        """Status and answer of a POST, of a GET where nothing is asked; ``lines`` with _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=10.0)
        headers = self.lines | {name.replace("_", "-"): value for name, value in lines.items()}
        body = None if what is None else json.dumps(what)
        try:
            connection.request("GET" if what is None else "POST", path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            return answer.status, json.loads(data) if "json" in answer.getheader("Content-Type", "") else data, answer
        finally:
            connection.close()

    def stream(self):
        """The stream of events, as lines of bytes; to be closed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=PATIENCE_S)
        connection.request("GET", "/api/stream", headers=self.lines)
        return connection.getresponse()


class Told:
    """What the stream tells, read in a thread.

    Attributes:
        newest: of each kind.
        said: texts of the events, in order.
    """

    def __init__(self, page: Page):
        self.newest, self.said, self._stream = {}, [], page.stream()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        kind = ""
        while line := self._stream.readline().decode():
            if line.startswith("event: "):
                kind = line[7:].strip()
            elif line.startswith("data: "):
                self.newest[kind] = json.loads(line[6:])
                if kind == "said":
                    self.said.append(self.newest[kind]["text"])
