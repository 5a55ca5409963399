"""Access to the view: who may ask, from where, and how much; decided on header lines alone, before a body is read.

The page holds a random token from the fragment of its address, which browsers send nowhere.  ``Host`` has to be an address of the
server, so that no name that somebody points here reaches it; ``Origin`` and ``Sec-Fetch-Site``, which browsers set themselves,
have to be the page's own, so that no other page asks for anything.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Mapping
from email.message import Message
from http import HTTPStatus
from urllib.parse import urlsplit

from picker_dynamics.errors import PickerError

BODY_BYTES = 16_384
"""Largest request [bytes]."""

PAGE = re.compile(r"[0-9a-f]{8,32}(\.[0-9a-f]{1,16})?")
"""What a page calls itself: its browser's stream, and the tab."""

LENGTH = re.compile(r"[0-9]{1,9}")

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


class Door:
    """Door of the server: who may ask.

    Args:
        host: on which the server listens.
        port: on which it does.
        token: that pages have to know; empty: a random one.
    """

    def __init__(self, host: str, port: int, token: str = ""):
        self.host, self.port, self.token = host, port, token or secrets.token_urlsafe(18)

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
        elsewhere = site not in ("same-origin", "none") and not (method == "GET" and path == "/")
        if elsewhere or origin not in (None, f"http://{host}"):
            raise RefusedAccess(HTTPStatus.FORBIDDEN, "another page asks: refused")
        if not path.startswith("/api/"):
            return
        given = headers.get("Authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            raise RefusedAccess(HTTPStatus.UNAUTHORIZED, "the server was started anew: open the address that it prints")
        if not PAGE.fullmatch(headers.get("X-Page", "")):
            raise RefusedAccess(HTTPStatus.BAD_REQUEST, "a request without the page's id")
        if method == "POST":
            self._check_body(headers)

    def _check_body(self, headers: Message | Mapping[str, str]) -> None:
        if headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise RefusedAccess(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request is JSON")
        if not LENGTH.fullmatch(length := headers.get("Content-Length", "")) or "Transfer-Encoding" in headers:
            raise RefusedAccess(HTTPStatus.LENGTH_REQUIRED, "a request without Content-Length")
        if int(length) > BODY_BYTES:
            raise RefusedAccess(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {BODY_BYTES} bytes")

    def is_here(self, host: str) -> bool:
        """Whether a ``Host`` header names this server: by a loopback name, by what it was told to listen on, or, beyond this
        machine, by any number; never by a name that somebody else could point here."""
        try:
            asked = urlsplit(f"//{host}")
            name, port = asked.hostname or "", asked.port or 80
        except ValueError:
            return False
        beyond = self.host not in LOOPBACK and (name == self.host.lower() or _is_number(name))
        return port == self.port and (name in LOOPBACK or beyond)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
