"""A torque-controlled arm that runs in this process on the machine's time, and is served by its socket and over TCP."""

from __future__ import annotations

import socket

from picker_dynamics.controller import parameters
from picker_dynamics.controller.settings import Settings, given
from picker_dynamics.session.address import socket_path
from picker_dynamics.session.loop_thread import LoopThread
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.session.server import Server

TOKEN = "a token of some length"


class Running:
    """The torque-controlled arm of the notes, whose loop a thread runs, and its server."""

    def __init__(self):
        settings = {part: Settings(part, given({"control": "torque"})) for part in parameters.PARTS}
        self.arm = RunningArm(settings)
        self.report = Report(self.arm)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.server = Server(self.arm, self.report, socket_path(""), ("127.0.0.1", self.port), TOKEN)
        self.loop = LoopThread(self.arm.session.cycle, self.arm.period_s)

    def close(self) -> None:
        self.loop.close()
        self.server.close()
        self.arm.close()
        assert self.loop.failure is None
