"""HTTP server of the view: the page's files, one stream of events down, requests up; one thread serves all connections.

What a request may do is decided in ``access``, what it means in ``requests``; here bytes come in and go out.  Until the token is
seen on it a connection is a stranger's: it has a second for each request, few of them are answered at a time, and where there are
too many the oldest is closed.  What takes a while is done in other threads, a stop in some that nothing else takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any

from picker_dynamics.errors import LinkError, MissingDependencyError, PickerError

from .access import HEADERS, Door, RefusedAccess
from .base import View
from .requests import read

PAGE = Path(__file__).resolve().parent / "page"
"""The bundle, as ``make setup`` builds it."""

REQUEST_S, IDLE_S, WRITE_S = 1.0, 20.0, 5.0
"""How long head and body of a request may take each, how long a connection that knows the token may be silent between two, and
how long a reader may not take what is sent at once [s]."""

HEAD_BYTES, SEND_BYTES = 16_384, 65_536
"""Longest head of a request; what is sent at once, and waits for a slow reader: some ten pictures [bytes]."""

STRANGERS, BACKLOG, ACCEPTED = 512, 1024, 32
"""Most strangers, most connections that wait for the thread, and how many it takes at once."""

ANSWERED, CROWD, PACE_S = 4, 32, 0.01
"""How many strangers are answered at a time; where there are more than so many, each takes at least so long [s]: 400 a second."""

WORKERS, STOPPING, STREAMS = 32, 8, 64
"""Threads for requests, for stops, and for streams: of more streams none is opened."""

LAST_S = 0.5
"""How long an answer may be on its way at the end [s]."""

MESH_BYTES = 20_000_000

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Of the page's files, whatever this machine's own list says of them."""

Answer = tuple[bytes, Mapping[str, str]]
"""Body, and the lines about it."""


def require_page() -> None:
    """Raise a MissingDependencyError where nobody has built the page."""
    if not (PAGE / "index.html").is_file():
        raise MissingDependencyError(
            "the page of picker view has not been built: 'make setup' does, with node or where it can be fetched"
        )


def page_files() -> dict[str, Answer]:
    """The page's files, compressed, by their paths on the server; errors as ``require_page``."""
    require_page()
    files = {f"/{path.name}": _file(path) for path in sorted(PAGE.iterdir()) if path.is_file()}
    files["/"] = files.pop("/index.html")
    return files


def _file(path: Path) -> Answer:
    kind = {"Content-Type": KINDS.get(path.suffix, "application/octet-stream")}
    return gzip.compress(path.read_bytes(), 9, mtime=0), {**kind, "Content-Encoding": "gzip", "Cache-Control": "no-cache"}


class ViewServer:
    """Serves one view until it is closed; a context manager whose threads end with it.

    Args:
        viewed: what is shown.
        host, port: on which it listens; port 0: any.
        token: that pages have to know; empty: a random one.

    Attributes:
        strangers: tasks of connections on which the token was not seen yet, the oldest first.

    Raises:
        MissingDependencyError: there is no page.
        LinkError: nobody can listen there.
    """

    def __init__(self, viewed: View, host: str = "127.0.0.1", port: int = 0, token: str = ""):
        self.viewed, self.files = viewed, page_files()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise LinkError(f"cannot serve a page at {host}:{port}: {why}; --view-port chooses another", value=port) from error
        self._listener.setblocking(False)
        self.door = Door(host, self._listener.getsockname()[1], token)
        self.workers, self.stopping, self.streams = map(ThreadPoolExecutor, (WORKERS, STOPPING, STREAMS))
        self._tasks, self.strangers = dict[asyncio.Task[None], None](), dict[asyncio.Task[None], None]()  # the oldest first
        self._loop, self.answering = asyncio.new_event_loop(), asyncio.Semaphore(ANSWERED)
        self._thread = threading.Thread(target=self._loop.run_forever, name="view server", daemon=True)

    def __enter__(self) -> ViewServer:
        self._loop.add_reader(self._listener, self._accept)
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.viewed.channel.close()
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for pool in (self.workers, self.stopping, self.streams):
            pool.shutdown(wait=False)

    async def _close(self) -> None:
        self._loop.remove_reader(self._listener)
        self._listener.close()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=LAST_S)
            for task in late:
                task.cancel()

    def _accept(self) -> None:
        """Serve connections that wait, each in the place of the oldest stranger where there are too many of those."""
        for _ in range(ACCEPTED):
            try:
                stream, _address = self._listener.accept()
            except OSError:  # none waits, or it is gone
                return
            if len(self.strangers) >= STRANGERS:
                oldest = next(iter(self.strangers))
                del self.strangers[oldest]
                oldest.cancel()
            stream.setblocking(False)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
            task = self._loop.create_task(_Connection(self, self._loop, stream).serve())
            self._tasks[task] = self.strangers[task] = None
            task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self.strangers.pop(task, None)


class _Connection:
    """One connection: requests and answers in turn, each within its time, or it is cut."""

    def __init__(self, server: ViewServer, loop: asyncio.AbstractEventLoop, stream: socket.socket):
        self._server, self._loop, self._socket = server, loop, stream
        self._known, self._rest = False, b""

    async def serve(self) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._task = task  # not before it runs: one that is cut until then would be a circle with its connection, and stay open
        # It breaks, or is cut: a task that kept that error would be a circle with it, and the collection of many holds up all.
        with self._socket, contextlib.suppress(OSError, asyncio.CancelledError):
            while await self._answer():
                pass

    @contextlib.contextmanager
    def _within(self, seconds: float) -> Iterator[None]:
        """Cut the connection where what is within takes longer."""
        cut = self._loop.call_later(seconds, self._task.cancel)
        try:
            yield
        finally:
            cut.cancel()

    async def _answer(self) -> bool:
        """Answer a request; returns whether another one may follow."""
        goes_on, status = False, HTTPStatus.OK
        try:
            method, path, headers = _parsed(await self._head())
            self._server.door.check(method, path, headers)
            length = headers.get("Content-Length", "0")
            goes_on = headers.get("Connection", "").lower() != "close" and (method == "POST" or length == "0")
            if not path.startswith("/api/"):
                if method != "GET" or path not in self._server.files:
                    raise _nothing("page")
                answer = self._server.files[path]
            else:
                self._known = True
                self._server.strangers.pop(self._task, None)
                if (method, path) == ("GET", "/api/stream"):
                    await self._stream(headers["X-Page"].partition(".")[0])
                    return False
                body = await self._read(int(length)) if method == "POST" else b""
                pool = self._server.stopping if path == "/api/stop" else self._server.workers
                act = self._get if method == "GET" else self._post
                answer = await self._loop.run_in_executor(pool, act, path, body, headers)
        except RefusedAccess as refused:  # what else it sent is not read
            goes_on, status, answer = False, refused.status, _json({"error": str(refused)})
        except PickerError as error:
            about = {"kind": type(error).__name__, "subject": error.subject}
            status, answer = HTTPStatus.CONFLICT, _json({"error": str(error), **about})
        content, lines = answer
        if self._known:
            lines = {**lines, "X-Seen": self._server.viewed.seen()}
        ends = {} if goes_on else {"Connection": "close"}
        data = _head_of(status, {**lines, "Content-Length": str(len(content)), **ends}) + content
        if self._known:
            await self._write(data)
        else:
            async with self._server.answering:
                await asyncio.sleep(PACE_S if len(self._server.strangers) > CROWD else 0.0)
                await self._write(data)
        return goes_on

    # -- bytes in --------------------------------------------------------------------------------------------

    async def _head(self) -> str:
        """The head of the next request."""
        if self._known and not self._rest:
            with self._within(IDLE_S):
                await self._take()
        with self._within(REQUEST_S):
            while b"\r\n\r\n" not in self._rest:
                if len(self._rest) > HEAD_BYTES:
                    raise RefusedAccess(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"a head has at most {HEAD_BYTES} bytes")
                await self._take()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        return head.decode("latin-1")

    async def _read(self, length: int) -> bytes:
        with self._within(REQUEST_S):
            while len(self._rest) < length:
                await self._take()
        body, self._rest = self._rest[:length], self._rest[length:]
        return body

    async def _take(self) -> None:
        data = await self._loop.sock_recv(self._socket, HEAD_BYTES)
        if not data:
            raise ConnectionResetError("it was closed")
        self._rest += data

    # -- what is asked, in a thread --------------------------------------------------------------------------

    def _get(self, path: str, _body: bytes, _headers: Mapping[str, str]) -> Answer:
        viewed = self._server.viewed
        if path.startswith("/api/mesh/"):
            return self._mesh(path.rpartition("/")[2])
        asked = {"/api/arm": viewed.picture, "/api/tours": viewed.listed_tours, "/api/region": viewed.region}.get(path)
        if asked is None:
            raise _nothing("page")
        return _json(asked())

    def _post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        viewed = self._server.viewed
        if path == "/api/stop":
            return _json({"said": viewed.stop()})
        what, fields = read(body)
        if path == "/api/check" and what in ("joints", "tip"):
            return _json(viewed.check((what, fields)))
        if path == "/api/do":
            return _json(viewed.do((what, fields), headers["X-Page"], headers.get("X-Seen", "")))
        raise _nothing("request")

    def _mesh(self, number: str) -> Answer:
        path = self._server.viewed.mesh(int(number)) if number.isdecimal() and len(number) < 6 else None
        if path is None or path.stat().st_size > MESH_BYTES:
            raise _nothing("mesh")
        return path.read_bytes(), {"Content-Type": "application/octet-stream"}

    # -- bytes out -------------------------------------------------------------------------------------------

    async def _stream(self, name: str) -> None:
        channel = self._server.viewed.channel
        if len(channel.readers) >= STREAMS:
            raise RefusedAccess(HTTPStatus.SERVICE_UNAVAILABLE, f"{STREAMS} pages look at the arm: close some")
        lines = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "Connection": "close"}
        await self._write(_head_of(HTTPStatus.OK, lines))
        news = channel.read(name)
        try:
            while data := await self._loop.run_in_executor(self._server.streams, next, news, b""):
                await self._write(data)
        finally:
            news.close()

    async def _write(self, data: bytes) -> None:
        for begin in range(0, len(data), SEND_BYTES):
            with self._within(WRITE_S if self._known else REQUEST_S):
                await self._loop.sock_sendall(self._socket, memoryview(data)[begin : begin + SEND_BYTES])


def _nothing(what: str) -> RefusedAccess:
    return RefusedAccess(HTTPStatus.NOT_FOUND, f"there is no such {what}")


def _parsed(head: str) -> tuple[str, str, dict[str, str]]:
    """Method, path without what follows ``?``, and the lines of a request's head by their names, as in ``Content-Length``."""
    first, *lines = head.split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.partition(" ")
    if method not in ("GET", "POST") or version != "HTTP/1.1":
        raise RefusedAccess(HTTPStatus.NOT_IMPLEMENTED, "GET and POST of HTTP/1.1 are taken")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if headers.setdefault(name.title(), value.strip()) != value.strip():
            raise RefusedAccess(HTTPStatus.BAD_REQUEST, "a line of the head is given twice")
    return method, target.partition("?")[0], headers


def _json(value: Mapping[str, Any]) -> Answer:
    lines = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    return json.dumps(value, ensure_ascii=False).encode(), lines


def _head_of(status: HTTPStatus, lines: Mapping[str, str]) -> bytes:
    head = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in {**HEADERS, **lines}.items())]
    return "\r\n".join([*head, "", ""]).encode()
