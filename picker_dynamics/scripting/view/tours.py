"""Tours and picks of a page: what ``picker replay`` and ``picker pick`` make, by the same ``Arm``.

All of it is checked before anything moves; then a thread makes it leg by leg, and says how far it is.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from picker_dynamics.errors import GoalRefusedError, InputError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.robot.description import ArmDescription

from .. import taught
from ..legs import Leg, Replay
from ..scripted_arm import ScriptedArm
from .channel import Channel
from .requests import NAME, Request

ANSWER_S, TELL_S = 5.0, 0.2
"""How long the arm has to come to rest before a tour, and how often pages are told how far it is [s]."""

MOST, RECORDINGS, LARGEST_BYTES = 200, 20, 262_144
"""So many files of a folder are looked at, and the newest so many recordings; none is larger that a person wrote."""


class Tours:
    """Makes one tour or pick at a time.

    Args:
        arm: that the page drives.
        channel: tells how far one is; say: says what came of it.

    Attributes:
        name: of what is under way; empty: nothing.
        folder: in which taught motions are looked for.
    """

    def __init__(self, arm: ScriptedArm, channel: Channel, say: Callable[..., None]):
        self._arm, self._channel, self._say, self._told_s = arm, channel, say, 0.0
        self.name, self.folder = "", Path.cwd()

    def begin(self, asked: Request, wanted: Callable[[], bool]) -> Mapping[str, Any]:
        """Check all of it from where the arm comes to rest, and have it made as long as it is ``wanted``.

        Raises:
            PickerError: it may not be made, or the arm goes on moving; nothing moves for it.
        """
        arm, (what, fields) = self._arm, asked
        try:
            if what == "tour":
                path = _file(self.folder, fields["name"])
                self.name = path.name.removesuffix(".yaml")
            else:
                self.name = f"{what} at ({', '.join(f'{1e3 * x:.0f}' for x in fields['at'])}) mm"
            self._tell(0.0, "being checked")
            session = arm.session
            assert session is not None

            def rests() -> bool:
                return not wanted() or (session.controller["phase"] == "holding" and not session.under_way)

            if not session.wait_at_most(ANSWER_S, rests):
                raise GoalRefusedError("refused: the arm moves: wait until it holds, or cancel the motion", subject="controller")
            if what == "tour":
                found = arm.replay(path, loop=int(fields["loop"]), check=True)
            elif what == "pick":
                found = arm.pick(fields["at"], pitch=fields["pitch"], mass=fields["kg"], check=True)
            else:
                found = arm.place(fields["at"], pitch=fields["pitch"], check=True)
            _require(wanted)
        except BaseException:
            self._forget()
            raise
        self._say(said := f"{self.name}: {len(found.legs)} steps, {found.duration:.1f} s")
        threading.Thread(target=self._make, args=(found.legs, wanted), name="tour", daemon=True).start()
        return {"said": said}

    def _make(self, legs: tuple[Leg, ...], wanted: Callable[[], bool]) -> None:
        where = ""

        def progress(_leg: Leg, share: float) -> None:
            _require(wanted)
            if not share or time.monotonic() - self._told_s >= TELL_S:
                self._told_s = time.monotonic()
                self._tell((number - 1 + share) / len(legs), where)

        try:
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
        raise GoalRefusedError("ended before it was done", subject="page")


# -- files -------------------------------------------------------------------------------------------------------------------


def listed(folder: Path, arm: ArmDescription) -> dict[str, Any]:
    """Motions of a folder to make again: taught ones with their steps, or why they cannot be used; the newest recordings."""
    found = []
    for path in sorted(folder.glob("*.yaml"))[:MOST]:
        if _is_taught(path):
            try:
                found.append({"name": path.name, "steps": len(taught.read(path, arm).steps), "why": ""})
            except PickerError as error:
                found.append({"name": path.name, "steps": None, "why": str(error).removeprefix(f"{path}: ")})
    recordings = sorted((one.name for one in folder.glob("*.mcap") if NAME.fullmatch(one.name)), reverse=True)[:RECORDINGS]
    return {"folder": str(folder), "tours": [*found, *({"name": name, "steps": None, "why": ""} for name in recordings)]}


def _is_taught(path: Path) -> bool:
    """Whether a file looks like a taught motion; of others nothing is told."""
    try:
        plain = NAME.fullmatch(path.name) is not None and path.is_file() and path.stat().st_size <= LARGEST_BYTES
        return plain and b"\nsteps:" in b"\n" + path.read_bytes()
    except OSError:
        return False


def _file(folder: Path, name: str) -> Path:
    """The file of a taught motion or recording.

    Raises:
        InputError: there is none.
    """
    path = taught.path_of(folder / name)
    if not (path.is_file() if path.suffix == ".mcap" else path.suffix == ".yaml" and _is_taught(path)):
        raise InputError(f"there is no taught motion or recording {name} in {folder}", subject="tour", value=name)
    return path
