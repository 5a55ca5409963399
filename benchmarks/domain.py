"""A ROS domain of one's own: what is measured hears nobody else, and nobody hears it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from picker_dynamics.bringup import bringup
from picker_dynamics.errors import ConfigurationError

DOMAINS = range(1, 100)
DOMAIN_LOCK_PORT = 22_000
PARTICIPANTS = 32


@contextmanager
def own_domain() -> Iterator[dict[str, str]]:
    """Discovery on this machine alone, in a domain that nobody else has; restored at the end.

    As in the tests, whoever has bound a domain's port on the loopback owns the domain; and nobody may be left in it.
    """
    domain, lock = next(filter(None, map(_taken, DOMAINS)), (None, None))
    if lock is None:
        raise ConfigurationError(f"no free ROS domain from {DOMAINS[0]} to {DOMAINS[-1]}", subject="ROS_DOMAIN_ID")
    with lock:
        ours = bringup.LOCAL_ONLY | {"ROS_DOMAIN_ID": str(domain)}
        before = {name: os.environ.get(name) for name in ours}
        os.environ.update(ours)
        try:
            yield ours
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _taken(domain: int) -> tuple[int, socket.socket] | None:
    """The domain and the lock on it; None if somebody has it or is left in it.

    The lock comes first: to look for participants in a domain that another one is about to fill would take their ports.
    """
    lock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if _bound(lock, DOMAIN_LOCK_PORT + domain) and _deserted(domain):
        return domain, lock
    lock.close()
    return None


def _deserted(domain: int) -> bool:
    """Whether no participant of a domain listens: port 7400 + 250 domain + 10 + 2 i is that of number i [RTPS 9.6.1.1]."""
    for participant in range(PARTICIPANTS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            if not _bound(probe, 7410 + 250 * domain + 2 * participant):
                return False
    return True


def _bound(end: socket.socket, port: int) -> bool:
    try:
        end.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True
