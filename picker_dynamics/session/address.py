"""Address of a running arm: a socket of this user by the arm's name, and the claim that one process alone runs that arm."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

from picker_dynamics.errors import ConfigurationError, PickerError, shown
from picker_dynamics.resources import private_folder

DOMAIN = "ROS_DOMAIN_ID"

HOST, LISTEN, TOKEN = "PICKER_HOST", "PICKER_LISTEN", "PICKER_TOKEN"
"""Variables of the environment: where an arm on another machine is, where an arm is served over TCP, and the secret of both."""

LEAST_TOKEN = 16

DOMAIN_MAX = 232
"""Of more there is no port for DDS."""

LONGEST = 90
"""Bytes of a path that a socket has room for, less those of a folder."""


NAMESPACE = re.compile(r"/?([A-Za-z_]\w*(/[A-Za-z_]\w*)*)?", re.ASCII)

NAMESPACE_MAX = 150
"""Longest namespace: with the names of actions behind it a topic's has 255 characters at the most."""


def require_namespace(namespace: str) -> None:
    """Raise a ConfigurationError where ROS would not take this as a namespace."""
    if len(namespace) > NAMESPACE_MAX or not NAMESPACE.fullmatch(namespace):
        text = f"namespace is {shown(namespace, 100)!r}, must be names of letters, digits and _, separated by /, of "
        raise ConfigurationError(f"{text}{NAMESPACE_MAX} characters at most", "namespace", namespace, NAMESPACE_MAX)


def host_and_port(text: str, what: str = LISTEN) -> tuple[str, int]:
    """Take apart 'HOST:PORT'; raises a ConfigurationError about ``what`` where it is none."""
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port[:6]) < 1 << 16):
        raise ConfigurationError(f"{what} is {shown(text, 100)!r}, must be HOST:PORT", what, text)
    return host.strip("[]"), int(port)


def listening() -> tuple[tuple[str, int] | None, str]:
    """Address and token at which the environment wants the arm served over TCP; None: nowhere.

    Raises:
        ConfigurationError: an address that is none, or a token that is too short.
    """
    where, token = os.environ.get(LISTEN, ""), os.environ.get(TOKEN, "")
    if where and len(token) < LEAST_TOKEN:
        text = f"anyone who reaches {shown(where, 100)} could move the arm: set {TOKEN} to {LEAST_TOKEN} characters or more"
        raise ConfigurationError(text, TOKEN, len(token), LEAST_TOKEN)
    return host_and_port(where) if where else None, token


class OccupiedError(PickerError):
    """An arm that another process runs already."""

    exit_code = 15


def chosen_domain() -> int:
    """The ROS domain that the environment names; raises a ConfigurationError where there is none of that number."""
    domain = os.environ.get(DOMAIN) or "0"
    if not (domain.isascii() and domain.isdigit() and len(domain) < 10 and int(domain) <= DOMAIN_MAX):
        text = f"{DOMAIN} is {shown(domain, 100)!r}, must be a whole number from 0 to {DOMAIN_MAX}"
        raise ConfigurationError(text, DOMAIN, domain, DOMAIN_MAX)
    return int(domain)


def folder() -> Path:
    """Folder of this user's sockets, that nobody else can enter."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(private_folder("picker_dynamics_run", shared=True, where=runtime if os.access(runtime, os.W_OK) else None))


def socket_path(namespace: str) -> Path:
    """Path of the socket of the arm in ``namespace``, in the ROS domain that the environment names."""
    name = namespace.strip("/").replace("/", "-") or "arm"
    return folder() / f"{name[:LONGEST]}.{chosen_domain()}"


class Claim:
    """Claim on the arm of ``namespace``: a lock beside its socket, freed by ``close`` or with the process.

    Raises:
        OccupiedError: another process has it, and is named.
    """

    def __init__(self, namespace: str):
        self.path = socket_path(namespace)
        self._file = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(self._file, 20).decode()
            self.close()
            where = (
                f"the arm of namespace /{namespace.strip('/')} in ROS domain {chosen_domain()} is run by process {owner} already"
            )
            advice = "end that one, or choose another namespace or ROS_DOMAIN_ID"
            raise OccupiedError(f"{where}: {advice}", namespace) from None
        os.ftruncate(self._file, 0)
        os.write(self._file, str(os.getpid()).encode())

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def require_free(namespace: str) -> None:
    """Raise an OccupiedError where the arm of this namespace runs already."""
    Claim(namespace).close()
