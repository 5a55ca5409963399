"""Claims: one arm has one controller, one node for its dynamics, and one that drives it; a second one ends before it says a word.

What only one node may publish is claimed by its full name and ROS domain, as an abstract socket: the kernel gives a name once,
tells which process has it, and frees it with that process, however it ends.  Discovery would take seconds and still see
nothing of a process that starts at the same time.  It reaches as far as the loopback interface does; nodes of another machine
are noticed when they are heard (``duplicate_publishers``).
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import struct
import sys
from collections.abc import Iterable

from picker_dynamics.errors import ConfigurationError, PickerError, shown

EXCLUSIVE = {"trajectory_controller": "arm_controller/reference", "dynamics": "joint_commands", "hardware": "hardware/held_pose"}
"""What only one node may publish, by the name under which that node runs."""

DOMAIN = "ROS_DOMAIN_ID"

DOMAIN_MAX = 232
"""Of more there is no port for DDS."""

LONGEST = 80
"""Bytes of a name that a socket's address has room for; of a longer one it has a digest."""


class OccupiedError(PickerError):
    """A task of an arm that only one node can do, and that another does already."""

    exit_code = 15


class Claim:
    """Claim on a topic; freed by ``close``, or with the process.

    Args:
        domain: ROS domain.
        topic: full name.

    Raises:
        OccupiedError: another one has it; says which process.
    """

    def __init__(self, domain: int, topic: str):
        self._socket: socket.socket | None = None
        if not sys.platform.startswith("linux"):  # no such sockets there
            return
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        address = _address(domain, topic)
        try:
            made.bind(address)
        except OSError as error:
            made.close()
            if error.errno != errno.EADDRINUSE:
                raise
            raise OccupiedError(
                f"{topic} in ROS domain {domain} is published by {_who(address)} already: an arm is moved by one graph; "
                "end that one, or choose another namespace or ROS_DOMAIN_ID",
                subject=topic,
            ) from None
        made.listen(socket.SOMAXCONN)  # nobody takes the calls: so many may ask who it is
        self._socket = made

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class Claimant:
    """Mixin of a node that claims what it alone may publish, before it makes its publishers."""

    _claim: Claim | None = None

    def claim(self, topic: str) -> None:
        """Claim a topic until the node is destroyed; raises an OccupiedError."""
        self._claim = Claim(self.context.get_domain_id(), self.resolve_topic_name(topic))

    def destroy_node(self) -> None:
        if self._claim is not None:
            self._claim.close()
        super().destroy_node()


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


def require_free(namespace: str, topics: Iterable[str] = EXCLUSIVE.values()) -> None:
    """Raise an OccupiedError where a graph runs in this namespace, in the ROS domain that the environment names.

    Raises:
        ConfigurationError: as ``chosen_domain``.
    """
    domain = chosen_domain()
    for topic in topics:
        name = "/".join(filter(None, (namespace.strip("/"), topic)))
        Claim(domain, f"/{name}").close()


def _address(domain: int, topic: str) -> bytes:
    name = topic.encode()
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
