"""View of a script's arm: ``Arm.simulated().view()``, ``Arm.connect().view()``, also in a notebook."""

from __future__ import annotations

import contextlib
import math
import threading
import time
import webbrowser

from picker_dynamics.errors import LinkError
from picker_dynamics.files.fields import whole
from picker_dynamics.robot.model import checked_number
from picker_dynamics.session.session import Session

from ..equipment import Equipment
from ..scripted_arm import STEP_S
from .arm_view import ArmView
from .server import ViewServer


class LiveView:
    """A page with a script's arm on it; a context manager, closed by ``close`` or with the script.

    A simulated arm moves, and does what the page asks, while time passes: in ``run``, and in the arm's own ``move`` and ``wait``.

    Args:
        port: of the page; 0: any.
        browser: open it, where there is one.

    Raises:
        MissingDependencyError: the page has not been built.
        LinkError: nobody can listen there.

    Attributes:
        address: of the page, with its token.
        server: of the page.
    """

    def __init__(self, known: Equipment, session: Session, port: int = 0, browser: bool = True):
        with contextlib.ExitStack() as undo:
            self._view = ArmView(known, session)
            undo.callback(self._view.close)
            self.server = ViewServer(self._view, port=whole(port, "port", 0, 65535))
            undo.pop_all()
        self.server.__enter__()
        self.address, self._over = self.server.door.address, threading.Event()
        if not session.simulated:
            threading.Thread(target=self._look, name="view", daemon=True).start()
        if browser:
            webbrowser.open(self.address)

    def _look(self) -> None:
        with contextlib.suppress(LinkError):  # the arm's process has ended
            self._view.run()

    def run(self, seconds: float = math.inf) -> None:
        """Let time pass, for so long [s] or until Ctrl-C; the page drives meanwhile."""
        ends_s = time.monotonic() + (seconds if seconds == math.inf else checked_number("seconds", seconds, "s", least=0.0))
        with contextlib.suppress(KeyboardInterrupt):
            while time.monotonic() < ends_s and not self._over.is_set():
                self._view.session.spin(STEP_S)

    def close(self) -> None:
        """Take the page away; the arm stays as it is."""
        if not self._over.is_set():
            self._over.set()
            self.server.__exit__()
            self._view.close()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return f'<a href="{self.address}" target="_blank" rel="noopener">{self._view.known.description.name} in the browser</a>'
