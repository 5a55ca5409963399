"""A board without an arm on a pseudo-terminal, in a process of its own, that notes when each byte passed.

It is the real protocol and the virtual firmware, nothing else, so that it takes little of the machine it shares with
what is measured.  Its clock is the host's ``time.monotonic()`` less a known start: what the host believes about it can be
compared with the truth.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import sys
import tempfile
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.domain import own_domain
from picker_dynamics.board.protocol import FrameDecoder
from picker_dynamics.board.protocol.messages import Frame
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.simulated_board import firmware_config

READY_S = 20.0


@dataclass(frozen=True)
class Wire:
    """What passed between two moments, with ``time.monotonic()`` of each: frames from the host, and to it."""

    received: list[tuple[float, Frame]]
    sent: list[tuple[float, Frame]]


class StampingBoard:
    """The process and its port; a context manager.

    Args:
        servos: the servo map that the firmware is built for.

    Attributes:
        port: name of the pseudo-terminal.
        start_s: ``time.monotonic()`` at board time 0.
        pid: of the process.
    """

    def __init__(self, servos: ServoMap):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, firmware_config(servos)), daemon=True)
        self._process.start()
        theirs.close()
        if not self._pipe.poll(READY_S):
            self._process.kill()
            raise TimeoutError(f"the board's process is not ready after {READY_S} s")
        self.port, self.start_s = self._pipe.recv()
        self.pid = self._process.pid

    def wire(self) -> Wire:
        """What passed since the last call."""
        self._pipe.send("wire")
        return Wire(*(_frames(chunks) for chunks in self._pipe.recv()))

    def close(self) -> None:
        self._pipe.close()  # the process sees the end of the file, and ends
        self._process.join(2.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def __enter__(self) -> StampingBoard:
        return self

    def __exit__(self, *_exception) -> None:
        self.close()


def _frames(chunks: list[tuple[float, bytes]]) -> list[tuple[float, Frame]]:
    """Each frame with the moment at which its last byte passed."""
    decoder = FrameDecoder(in_step=False)
    return [(time_s, frame) for time_s, chunk in chunks for frame in decoder.feed(chunk)]


def _serve(pipe, config) -> None:
    master, slave = os.openpty()  # the slave stays open: closing the port is not the end of the terminal
    tty.setraw(slave)
    os.set_blocking(master, False)
    firmware, start_s = VirtualFirmware(config), time.monotonic()
    received, sent = [], []
    pipe.send((os.ttyname(slave), start_s))
    period_us = config.frame_us  # frames and telemetry fall due on the same instants
    while True:
        now_us = int((time.monotonic() - start_s) * 1e6)
        readable, _, _ = select.select([master, pipe], [], [], (period_us - now_us % period_us) * 1e-6)
        now_s = time.monotonic()
        now_us = int((now_s - start_s) * 1e6)
        if master in readable:
            data = os.read(master, 4096)
            received.append((now_s, data))
            firmware.receive(data, now_us)
        firmware.advance(now_us)
        answer = firmware.transmit()
        if answer:
            sent.append((now_s, answer))
            try:
                os.write(master, answer)
            except BlockingIOError:
                pass  # nobody reads: lost, as on a wire
        if pipe in readable:
            try:
                pipe.recv()
                pipe.send((received, sent))
            except (EOFError, OSError):  # the parent closed its end
                return
            received, sent = [], []


@dataclass(frozen=True)
class Bench:
    """An arm's process that runs against a board without an arm."""

    arm: ArmDescription
    servos: ServoMap
    board: StampingBoard
    runner: GraphRunner

    @property
    def pid(self) -> int:
        """The arm's process."""
        return self.runner.processes["arm"].pid


@contextmanager
def bench(rate_hz: float) -> Iterator[Bench]:
    """The picker's graph in a domain of its own; where what is done meanwhile fails, the nodes' last words are printed."""
    overlay = resource("config/servos.sim.yaml")
    arm, servos = servo_arm.load(overlay=overlay)
    with own_domain(), tempfile.TemporaryDirectory(prefix="picker_bench_") as folder, StampingBoard(servos) as board:
        file, log = Path(folder) / "rate.yaml", Path(folder) / "nodes.log"
        file.write_text(f"/**/trajectory_controller: {{ros__parameters: {{rate_hz: {float(rate_hz)}}}}}")
        files = {"params_file": str(file), "servo_overlay": str(overlay)}
        graph = bringup.graph(bringup.Options(hardware="serial", port=board.port, **files))
        with GraphRunner(graph, log_path=log) as runner:
            try:
                yield Bench(arm, servos, board, runner)
            except Exception:
                print(log.read_text()[-4000:], file=sys.stderr)
                raise
