"""Arms that run in this process and are served by their socket: one on the machine's time, any on virtual time."""

from __future__ import annotations

import contextlib
import socket
import time

import numpy as np
from patient import patient_clients
from waiting import begun, until

from picker_dynamics import Arm
from picker_dynamics.controller import parameters
from picker_dynamics.controller.settings import Settings, given
from picker_dynamics.session.address import socket_path
from picker_dynamics.session.local import GIVES_WAY_S, SimulatedSession
from picker_dynamics.session.loop_thread import LoopThread
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.session.server import Server

TOKEN = "a token of some length"


class Running:
    """The torque-controlled arm of the notes, whose loop a thread runs, and its server."""

    def __init__(self, namespace: str = ""):
        settings = {part: Settings(part, given({"control": "torque"})) for part in parameters.PARTS}
        self.arm = RunningArm(settings)
        self.report = Report(self.arm)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.server = Server(self.arm, self.report, socket_path(namespace), ("127.0.0.1", self.port), TOKEN)
        self.loop = LoopThread(self.arm.session.cycle, self.arm.period_s)

    def close(self) -> None:
        self.loop.close()
        self.server.close()
        self.arm.close()
        assert self.loop.failure is None


class Served:
    """A simulated arm and its server; a thread lets virtual time pass, no faster than the clock on the wall, by which clients go.

    Nothing is late however busy the machine is: time passes as cycles are made.

    Args:
        arm, servos, scene: as for ``Arm.simulated``.

    Attributes:
        session: with it, in this process.
    """

    def __init__(self, arm: str = "", servos: str = "", scene: str | None = None):
        session = Arm.simulated(arm, servos, scene=scene).session
        assert isinstance(session, SimulatedSession)
        self.session, self._ending, self._patience = session, False, contextlib.ExitStack()
        self.server = Server(session.arm, Report(session.arm), socket_path(""))
        self._thread = begun(self._run)

    def _run(self) -> None:
        while not self._ending:
            self.session.step()
            time.sleep(GIVES_WAY_S)  # others may have it, where it is behind

    def spend(self, seconds: float) -> None:
        """Wait until so much virtual time has passed [s]."""
        until_s = self.session.now_s + seconds
        until(lambda: self.session.now_s > until_s, "virtual time")

    def attach(self, mass_kg: float) -> None:
        """Put a berry of this mass on the true arm's tool."""
        with self.session.arm.session.turn:
            self.session.plant.attach(mass_kg)

    @property
    def tip(self) -> np.ndarray:
        """Where the tip of the true arm is, (3,) [m]."""
        return np.array(self.session.plant.tip)

    def __enter__(self) -> Served:
        self._patience.enter_context(patient_clients())  # it plans between two cycles, which may take seconds
        return self

    def __exit__(self, *_exception: object) -> None:
        self._patience.close()
        self._ending = True
        self._thread.join()
        self.server.close()
        self.session.close()
