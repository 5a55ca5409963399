"""Tours and picks of a page: what ``picker replay`` and ``picker pick`` make, by the same ``Arm``.

All of it is checked before anything moves; then a thread makes it leg by leg, and says how far it is.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from picker_dynamics.errors import GoalRefusedError, InputError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.session.session import Session

from .. import taught
from ..legs import Leg, Replay
from ..scripted_arm import ScriptedArm
from .channel import Channel
from .requests import Request

ANSWER_S, TELL_S = 5.0, 0.2
"""How long the arm has to come to rest before a tour, and how often pages are told how far it is [s]."""

MOST = 200
"""So many files of a folder are looked at."""


class Tours:
    """Makes one tour or pick at a time.

    Args:
        arm, session: that the page drives.
        channel: tells how far one is; say: says what came of it.

    Attributes:
        name: of what is under way; empty: nothing.
        folder: in which taught motions are looked for.
    """

    def __init__(self, arm: ScriptedArm, session: Session, channel: Channel, say: Callable[..., None]):
        self._arm, self._session, self._channel, self._say, self._told_s = arm, session, channel, say, 0.0
        self.name, self.folder = "", Path.cwd()

    def listed(self) -> dict[str, Any]:
        """Recordings in the folder, and taught motions of this arm with their numbers of steps; of others nothing is told."""
        found = []
        for path in sorted(self.folder.glob("*.yaml"))[:MOST]:
            with contextlib.suppress(PickerError):
                found.append({"name": path.stem, "steps": len(taught.read(path, self._arm.description).steps)})
        found += [{"name": path.name, "steps": None} for path in sorted(self.folder.glob("*.mcap"))[-MOST:]]
        return {"folder": str(self.folder), "tours": found}

    def begin(self, asked: Request, wanted: Callable[[], bool]) -> Mapping[str, Any]:
        """Check all of it from where the arm comes to rest, and have it made as long as it is ``wanted``.

        Raises:
            PickerError: it may not be made, or the arm goes on moving; nothing moves for it.
        """
        what, fields = asked
        self.name = fields["name"] if what == "tour" else f"{what} at ({', '.join(f'{1e3 * x:.0f}' for x in fields['at'])}) mm"
        try:
            self._tell(0.0, "being checked")
            self._wait_for_rest(wanted)
            found = self._checked(what, **fields)
            _require(wanted)
        except BaseException:
            self._forget()
            raise
        self._say(said := f"{self.name}: {len(found.legs)} steps, {found.duration:.1f} s")
        session = self._session
        make = found.legs, wanted, session.asking(session.epoch)
        threading.Thread(target=self._make, args=make, name="tour", daemon=True).start()
        return {"said": said}

    def _wait_for_rest(self, wanted: Callable[[], bool]) -> None:
        session = self._session

        def rests() -> bool:
            return not wanted() or (session.controller["phase"] == "holding" and not session.under_way)

        if not session.wait_at_most(ANSWER_S, rests):
            raise GoalRefusedError("refused: the arm moves: wait until it holds, or cancel the motion", "controller")

    def _checked(self, what: str, name: str = "", loop: float = 1.0, **how: Any) -> Replay:
        if what != "tour":
            return (self._arm.pick if what == "pick" else self._arm.place)(how.pop("at"), **how, check=True)
        if name not in (one["name"] for one in self.listed()["tours"]):
            raise InputError(f"there is no taught motion or recording {name} of this arm in {self.folder}", "tour", name)
        file = name if name.endswith(".mcap") else f"{name}.yaml"
        return self._arm.replay(self.folder / file, loop=int(loop), check=True)

    def _make(self, legs: tuple[Leg, ...], wanted: Callable[[], bool], asked: AbstractContextManager[None]) -> None:
        where = ""

        def progress(_leg: Leg, share: float) -> None:
            _require(wanted)
            if not share or time.monotonic() - self._told_s >= TELL_S:
                self._told_s = time.monotonic()
                self._tell((number - 1 + share) / len(legs), where)

        try:
            with asked:
                for number, leg in enumerate(legs, 1):
                    where = f"step {number} of {len(legs)}: {leg.name}"
                    self._arm.play(Replay((leg,)), progress)
            self._say(f"{self.name}: done")
        except PickerError as error:
            with contextlib.suppress(PickerError):
                self._arm.cancel()  # whatever began just then
            if wanted():
                about = {"joint": error.subject or "", "outcome": EventKind.REFUSED.outcome}
                self._say(f"{self.name}: ended in {where}: {error}", "error", **about)
            else:
                self._say(f"{self.name}: ended in {where}", "warn")
        finally:
            self._forget()

    def _tell(self, share: float, what: str) -> None:
        self._channel.tell("tour", {"name": self.name, "share": round(share, 3), "what": what})

    def _forget(self) -> None:
        self.name = ""
        self._tell(0.0, "")


def _require(wanted: Callable[[], bool]) -> None:
    if not wanted():
        raise GoalRefusedError("ended before it was done", "page")
