"""HTTP server of the view: the page's files, one stream of events down, requests up; a thread for each connection.

What a request may do is decided in ``access``, what it means in ``requests``; here bytes come in and go out.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import sys
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from picker_dynamics.errors import LinkError, MissingDependencyError, PickerError

from .access import BODY_BYTES, HEADERS, Door, RefusedAccess
from .base import View
from .requests import read

PAGE = Path(__file__).resolve().parent / "page"
"""The bundle, as ``make setup`` builds it."""

IDLE_S, WRITE_S = 20.0, 5.0
"""How long a connection may be silent, and how long a reader may not read [s]."""

SEND_BYTES = 65_536
"""That wait for a slow reader: some ten pictures [bytes]."""

MESH_BYTES = 20_000_000

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Of the page's files, whatever this machine's own list says of them."""


def require_page() -> None:
    """Raise a MissingDependencyError where nobody has built the page."""
    if not (PAGE / "index.html").is_file():
        raise MissingDependencyError(
            "the page of picker view has not been built: 'make setup' does, with node or where it can be fetched"
        )


def page_files() -> dict[str, tuple[str, bytes]]:
    """Kind and compressed content of the page's files by their paths on the server; errors as ``require_page``."""
    require_page()
    files = {
        f"/{path.name}": (KINDS.get(path.suffix, "application/octet-stream"), gzip.compress(path.read_bytes(), 9, mtime=0))
        for path in sorted(PAGE.iterdir())
        if path.is_file()
    }
    files["/"] = files.pop("/index.html")
    return files


class ViewServer(ThreadingHTTPServer):
    """Serves one view until it is closed; a context manager whose threads end with it.

    Args:
        viewed: what is shown.
        host, port: on which it listens; port 0: any.
        token: that pages have to know; empty: a random one.

    Raises:
        MissingDependencyError: there is no page.
        LinkError: nobody can listen there.
    """

    daemon_threads, block_on_close, request_queue_size = True, False, 64

    def __init__(self, viewed: View, host: str = "127.0.0.1", port: int = 0, token: str = ""):
        self.viewed, self.files = viewed, page_files()
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise LinkError(f"cannot serve a page at {host}:{port}: {why}; --view-port chooses another", value=port) from error
        self.door = Door(host, self.server_address[1], token)

    def __enter__(self) -> ViewServer:
        threading.Thread(target=self.serve_forever, args=(0.5,), name="view server", daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.viewed.channel.close()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what failed; a connection that breaks is no news."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version, timeout, disable_nagle_algorithm = "HTTP/1.1", IDLE_S, True
    server_version, sys_version = "picker", ""
    server: ViewServer

    def do_GET(self) -> None:
        """Carry out a request that may be made, and say what came of it."""
        self.path = self.path.partition("?")[0]
        try:
            self.server.door.check(self.command, self.path, self.headers)
            (self._post if self.command == "POST" else self._get)()
        except RefusedAccess as refused:
            self.close_connection = True  # what else it sent is not read
            self._json({"error": str(refused)}, refused.status)
        except PickerError as error:
            about = {"kind": type(error).__name__, "subject": error.subject}
            self._json({"error": str(error), **about}, HTTPStatus.CONFLICT)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written down."""

    # -- how -----------------------------------------------------------------------------------------------

    def _get(self) -> None:
        viewed, path = self.server.viewed, self.path
        if path in self.server.files:
            kind, body = self.server.files[path]
            self._send(body, {"Content-Type": kind, "Content-Encoding": "gzip", "Cache-Control": "no-cache"})
        elif path == "/api/arm":
            self._json(viewed.picture())
        elif path == "/api/stream":
            self._stream()
        elif path.startswith("/api/mesh/"):
            self._mesh(path.rpartition("/")[2])
        elif path == "/api/tours":
            self._json(viewed.listed_tours())
        elif path == "/api/region":
            self._json(viewed.region())
        else:
            raise RefusedAccess(HTTPStatus.NOT_FOUND, "there is no such page")

    def _post(self) -> None:
        viewed = self.server.viewed
        body = self.rfile.read(min(int(self.headers["Content-Length"]), BODY_BYTES))
        if self.path == "/api/stop":
            return self._json({"said": viewed.stop()})
        what, fields = read(body)
        if self.path == "/api/check" and what in ("joints", "tip"):
            return self._json(viewed.check((what, fields)))
        if self.path == "/api/do":
            return self._json(viewed.do((what, fields), self.headers["X-Page"]))
        raise RefusedAccess(HTTPStatus.NOT_FOUND, "there is no such request")

    def _stream(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        self.connection.settimeout(WRITE_S)
        self._head(HTTPStatus.OK, {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "Connection": "close"})
        with contextlib.suppress(OSError):  # the page is gone, or does not read
            for data in self.server.viewed.channel.read(self.headers["X-Page"].partition(".")[0]):
                self.wfile.write(data)

    def _mesh(self, number: str) -> None:
        path = self.server.viewed.mesh(int(number)) if number.isdecimal() and len(number) < 6 else None
        if path is None or path.stat().st_size > MESH_BYTES:
            raise RefusedAccess(HTTPStatus.NOT_FOUND, "there is no such mesh")
        self._send(path.read_bytes(), {"Content-Type": "application/octet-stream"})

    def _json(self, value: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        kind = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        self._send(json.dumps(value, ensure_ascii=False).encode(), kind, status)

    def _send(self, body: bytes, lines: Mapping[str, str], status: HTTPStatus = HTTPStatus.OK) -> None:
        ends = {"Connection": "close"} if self.close_connection else {}
        with contextlib.suppress(OSError):
            self._head(status, {**lines, "Content-Length": str(len(body)), **ends})
            self.wfile.write(body)

    def _head(self, status: HTTPStatus, lines: Mapping[str, str]) -> None:
        self.send_response(status)
        for line in {**HEADERS, **lines}.items():
            self.send_header(*line)
        self.end_headers()
