"""Two machines on this one: network namespaces with a cable between them that loses packets, or is cut."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator

from waiting import until

from picker_dynamics.board.firmware import packages

CLONE_NEWNET = 0x40000000
CABLE = "cable"
MACHINES = ("arm", "operator")


def run(*words: str, text: str | None = None) -> str:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}"
    return done.stdout


def missing() -> str:
    """Why there can be no such machines here; empty where there can."""
    if os.geteuid():
        return "network namespaces are for root"
    if tools := packages.missing("network"):
        return tools
    probe = f"picker_probe_{os.getpid()}"
    able = f"ip netns add {probe} && ip netns exec {probe} nft add table inet probe"
    done = subprocess.run(able, shell=True, capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "delete", probe], capture_output=True, check=False)
    return done.stderr.strip()


class TwoMachines:
    """The machines ``arm`` (10.77.0.1) and ``operator`` (10.77.0.2); a context manager."""

    def __init__(self):
        self._names = {machine: f"picker_{machine}_{os.getpid()}" for machine in MACHINES}

    def __enter__(self) -> TwoMachines:
        try:
            for name in self._names.values():
                run("ip", "netns", "add", name)
            one, other = self._names.values()
            run("ip", "-n", one, "link", "add", CABLE, "type", "veth", "peer", "name", CABLE, "netns", other)
            for number, name in enumerate(self._names.values(), 1):
                run("ip", "-n", name, "address", "add", f"10.77.0.{number}/24", "dev", CABLE)
                for device in ("lo", CABLE):
                    run("ip", "-n", name, "link", "set", device, "up")
            for name in self._names.values():  # Fast DDS leaves an interface alone that is not there at its start
                until(lambda name=name: "state UP" in run("ip", "-n", name, "link", "show", CABLE), "a cable")
            self.lose(0)
        except AssertionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception) -> None:
        for name in self._names.values():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    @contextlib.contextmanager
    def on(self, machine: str) -> Iterator[None]:
        """Sockets that this thread makes meanwhile, threads and processes that it starts, are on that machine."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{self._names[machine]}") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"cannot enter the namespace of {machine}")
            try:
                yield
            finally:
                libc.setns(home.fileno(), CLONE_NEWNET)

    def lose(self, percent: int) -> None:
        """Lose that share of the packets that arrive, at random, on either side."""
        some = f"numgen random mod 100 < {percent} " if percent < 100 else ""
        rule = f'iifname "{CABLE}" {some}drop;' if percent else ""
        text = f"flush ruleset\ntable inet loss {{\nchain input {{\ntype filter hook input priority 0;\n{rule}\n}}\n}}\n"
        for name in self._names.values():
            run("ip", "netns", "exec", name, "nft", "-f", "-", text=text)

    @contextlib.contextmanager
    def losing(self, percent: int) -> Iterator[None]:
        self.lose(percent)
        try:
            yield
        finally:
            self.lose(0)
