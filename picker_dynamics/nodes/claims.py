"""Claim on an arm: of one namespace and ROS domain one process moves the arm; a second one ends before it publishes a word.

It is an abstract socket: the kernel gives a name once, tells which process has it, and frees it with that process, however it
ends.  Discovery would take seconds and still see nothing of a process that starts at the same time.  It reaches as far as the
loopback interface does.
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import struct
import sys

from picker_dynamics.errors import ConfigurationError, PickerError, shown

DOMAIN = "ROS_DOMAIN_ID"

DOMAIN_MAX = 232
"""Of more there is no port for DDS."""

LONGEST = 80
"""Bytes of a name that a socket's address has room for; of a longer one it has a digest."""


class OccupiedError(PickerError):
    """An arm that another process runs already."""

    exit_code = 15


class Claim:
    """Claim on the arm of a namespace; freed by ``close``, or with the process.

    Args:
        domain: ROS domain.
        namespace: of the arm's nodes.

    Raises:
        OccupiedError: another process has it, and is named.
    """

    def __init__(self, domain: int, namespace: str):
        self._socket: socket.socket | None = None
        if not sys.platform.startswith("linux"):  # no such sockets there
            return
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        name = namespace.strip("/")
        address = _address(domain, f"/{name}")
        try:
            made.bind(address)
        except OSError as error:
            made.close()
            if error.errno != errno.EADDRINUSE:
                raise
            where = f"namespace /{name}" if name else "this namespace"
            raise OccupiedError(
                f"the arm of {where} in ROS domain {domain} is run by {_who(address)} already: an arm is moved by one process; "
                "end that one, or choose another namespace or ROS_DOMAIN_ID",
                subject=name,
            ) from None
        made.listen(socket.SOMAXCONN)  # nobody takes the calls: so many may ask who it is
        self._socket = made

    @classmethod
    def of(cls, node) -> Claim:
        """Claim of the arm that ``node`` belongs to."""
        return cls(node.context.get_domain_id(), node.get_namespace())

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


def chosen_domain() -> int:
    """The ROS domain that the environment names; raises a ConfigurationError where there is none of that number."""
    domain = os.environ.get(DOMAIN) or "0"
    if not (domain.isascii() and domain.isdigit() and len(domain) < 10 and int(domain) <= DOMAIN_MAX):
        raise ConfigurationError(
            f"{DOMAIN} is {shown(domain, 100)!r}, must be a whole number from 0 to {DOMAIN_MAX}",
            subject=DOMAIN,
            value=domain,
            limit=DOMAIN_MAX,
        )
    return int(domain)


def require_free(namespace: str) -> None:
    """Raise an OccupiedError where an arm runs in this namespace, in the ROS domain that the environment names.

    Raises:
        ConfigurationError: as ``chosen_domain``.
    """
    Claim(chosen_domain(), namespace).close()


def _address(domain: int, namespace: str) -> bytes:
    name = namespace.encode()
    if len(name) > LONGEST:
        name = hashlib.sha256(name).hexdigest().encode()
    return b"\0picker %d " % domain + name


def _who(address: bytes) -> str:
    """The process that has an address; it listens, and takes no call."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as call:
        call.setblocking(False)
        try:
            call.connect(address)
            pid, _, _ = struct.unpack("3i", call.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        except OSError:  # it has just ended, or others are calling
            return "another process"
    return f"process {pid}"
