"""Access to the view: who may ask, from where, how much and how often; decided on header lines alone, before a body is read.

The page holds a random token from the fragment of its address, which browsers send nowhere.  ``Host`` has to be an address of the
server, so that no name that somebody points here reaches it; ``Origin`` and ``Sec-Fetch-Site``, which browsers set themselves,
have to be the page's own, so that no other page asks for anything.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus

from picker_dynamics.errors import PickerError

BODY_BYTES = 16_384
"""Largest request [bytes]."""

RATE_HZ, BURST = 60.0, 60.0
"""Requests of all pages together, stops not counted [1/s]."""

PAGE = re.compile(r"[0-9a-f]{8,32}(\.[0-9a-f]{1,16})?")
"""What a page calls itself: its browser's stream, and the tab."""

STOP = "/api/stop"

LOOPBACK = ("127.0.0.1", "localhost", "::1")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer."""


class RefusedAccess(PickerError):
    """A request that is not answered as asked; ``status`` is HTTP's."""

    def __init__(self, status: HTTPStatus, message: str):
        super().__init__(message)
        self.status = status


@dataclass
class Bucket:
    """Lets pass what is asked up to a rate [1/s], and ``burst`` at once."""

    rate_hz: float = RATE_HZ
    burst: float = BURST
    clock: Callable[[], float] = time.monotonic
    _credit: float = field(init=False)
    _last_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._credit, self._last_s = self.burst, self.clock()

    def lets_pass(self) -> bool:
        now_s = self.clock()
        self._credit = min(self._credit + self.rate_hz * (now_s - self._last_s), self.burst)
        self._last_s = now_s
        if self._credit < 1.0:
            return False
        self._credit -= 1.0
        return True


class Door:
    """Door of the server: who may ask.

    Args:
        host: on which the server listens.
        port: on which it does.
        token: that pages have to know; empty: a random one.
    """

    def __init__(self, host: str, port: int, token: str = ""):
        self.host, self.port, self.token = host, port, token or secrets.token_urlsafe(18)
        self.bucket = Bucket()

    @property
    def address(self) -> str:
        """Address of the page, for a person: with the token."""
        host = "127.0.0.1" if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/#{self.token}"

    def check(self, method: str, path: str, headers: Message | Mapping[str, str]) -> None:
        """Let a request pass, or say why not; of the files of the page nobody has to know the token.

        Raises:
            RefusedAccess: with the status that HTTP has for it.
        """
        host = headers.get("Host", "")
        if not self.is_here(host):
            raise RefusedAccess(HTTPStatus.MISDIRECTED_REQUEST, "this server has another address")
        origin, site = headers.get("Origin"), headers.get("Sec-Fetch-Site", "none")
        if origin is not None and origin != f"http://{host}":
            raise RefusedAccess(HTTPStatus.FORBIDDEN, "another page asks: refused")
        if site not in ("same-origin", "none") and not (method in ("GET", "HEAD") and path == "/"):
            raise RefusedAccess(HTTPStatus.FORBIDDEN, "another page asks: refused")
        if not path.startswith("/api/"):
            return
        given = headers.get("Authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            raise RefusedAccess(
                HTTPStatus.UNAUTHORIZED, "this page was opened for another start of the server: open the address that it prints"
            )
        if not PAGE.fullmatch(headers.get("X-Page", "")):
            raise RefusedAccess(HTTPStatus.BAD_REQUEST, "the page does not say which it is")
        if method == "POST":
            self._check_body(headers)
            if path != STOP and not self.bucket.lets_pass():
                raise RefusedAccess(HTTPStatus.TOO_MANY_REQUESTS, f"more than {RATE_HZ:g} requests a second: not carried out")

    def _check_body(self, headers: Message | Mapping[str, str]) -> None:
        if headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise RefusedAccess(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request is JSON")
        length = headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or "Transfer-Encoding" in headers:
            raise RefusedAccess(HTTPStatus.LENGTH_REQUIRED, "a request says how long it is")
        if len(length) > 9 or int(length) > BODY_BYTES:
            raise RefusedAccess(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {BODY_BYTES} bytes")

    def is_here(self, host: str) -> bool:
        """Whether a ``Host`` header names this server: by a loopback name, by what it was told to listen on, or, beyond this
        machine, by any number; never by a name that somebody else could point here."""
        name, port = _split(host)
        if port != self.port:
            return False
        if self.host in LOOPBACK:
            return name in LOOPBACK
        return name in (*LOOPBACK, self.host.lower()) or _is_number(name)


def _split(host: str) -> tuple[str, int]:
    """Name and port of a Host header; port -1 where there is none that can be."""
    name, colon, port = host.lower().rpartition(":")
    if not colon or port.endswith("]"):
        name, port = host.lower(), "80"
    known = port.isascii() and port.isdigit() and len(port) <= 5
    return name.removeprefix("[").removesuffix("]"), int(port) if known else -1


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
