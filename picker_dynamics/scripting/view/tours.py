"""Tours and picks of a page: what ``picker replay`` and ``picker pick`` make, by the same ``Arm``, whose body is here a view.

All of it is checked before anything moves; then a thread makes it leg by leg, and says how far it is.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from picker_dynamics.errors import GoalAbortedError, GoalRefusedError, InputError, LinkError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory

from .. import replay, taught
from ..body import Sample
from ..equipment import Equipment
from ..scripted_arm import ScriptedArm
from . import asked as ask
from .channel import Channel
from .motions import Motions, Wanted

GOES = (EventKind.ACCEPTED.outcome, EventKind.DONE.outcome)
"""Outcomes of a leg that is under way, or done."""

STEP_S, ANSWER_S, TELL_S = 0.02, 5.0, 0.2
"""How often it is looked whether a leg is over, how long the controller has to answer, how often pages are told [s]."""

MOST, RECORDINGS, LARGEST_BYTES = 200, 20, 262_144
"""So many files of a folder are looked at, and the newest so many recordings; none is larger that a person wrote."""


class Outcome(NamedTuple):
    """Outcome of a goal so far (accepted, done, refused, ...), in words, the joint it is about, and its duration [s]."""

    outcome: str
    text: str
    joint: str
    duration_s: float


class EndedError(PickerError):
    """Somebody has ended the tour."""


class Toured(Protocol):
    """Arm on which tours are made, as a ``View`` shows it."""

    known: Equipment
    motions: Motions
    channel: Channel

    @property
    def payload(self) -> float: ...
    @property
    def tip_speed(self) -> float | None: ...
    @property
    def phase(self) -> str: ...
    @property
    def now_s(self) -> float: ...
    def held(self) -> Array: ...
    def begin(self, wanted: Wanted) -> str: ...
    def cancel(self) -> None: ...
    def set(self, asked: ask.Setting) -> None: ...
    def say(self, text: str, level: str = "ok", **about: Any) -> None: ...


class Tours:
    """Makes one tour or pick at a time, for a view.

    Attributes:
        name: of what is under way; empty: nothing.
        folder: in which taught motions are looked for.
    """

    def __init__(self, view: Toured):
        self._view, self._body = view, ViewBody(view)
        self.name, self.folder = "", Path.cwd()

    def begin(self, asked: ask.Tour | ask.Pick, stands: Callable[[], None]) -> dict[str, Any]:
        """Check all of it from where the arm comes to rest, and have it made; ``stands`` raises where that was ended meanwhile.

        Raises:
            PickerError: it may not be made, or the arm goes on moving; nothing moves for it.
        """
        view = self._view
        body = self._body = ViewBody(view)
        stands()
        arm, path = ScriptedArm(view.known, body), Path()
        if isinstance(asked, ask.Tour):
            path = _file(self.folder, asked.name)
            self.name = path.name.removesuffix(".yaml")
        else:
            place = ", ".join(f"{1e3 * x:.0f}" for x in asked.at)
            self.name = f"{'place' if asked.place else 'pick'} at ({place}) mm"
        self._tell(0.0, "being checked")
        try:
            body.wait_holding()
            if isinstance(asked, ask.Tour):
                found = arm.replay(path, loop=asked.loop, check=True)
            elif asked.place:
                found = arm.place(asked.at, pitch=asked.pitch, check=True)
            else:
                found = arm.pick(asked.at, pitch=asked.pitch, mass=asked.kg, check=True)
            body.step()
        except BaseException:
            self._forget()
            raise
        view.say(said := f"{self.name}: {len(found.legs)} steps, {found.duration:.1f} s")
        threading.Thread(target=self._make, args=(arm, body, found), name="tour", daemon=True).start()
        return {"said": said}

    def end(self) -> None:
        """End what is under way: the arm decelerates and holds."""
        self._body.over.set()

    def hear(self, goal: str, outcome: Outcome) -> None:
        """Hear what becomes of goals, as it is said."""
        if self.name:
            self._body.outcomes[goal] = outcome

    def _make(self, arm: ScriptedArm, body: ViewBody, found: replay.Replay) -> None:
        view, name, progress = self._view, self.name, _Progress(found, self._tell)
        try:
            arm.play(found, progress)
            view.say(f"{name}: done")
        except EndedError:
            with contextlib.suppress(PickerError):
                view.cancel()  # whatever began just then
            view.say(f"{name}: ended in {progress.where}", "warn")
        except PickerError as error:
            said = f"{name}: ended in {progress.where}: {error}"
            view.say(said, "error", joint=error.subject or "", outcome=EventKind.REFUSED.outcome)
        finally:
            self._forget()

    def _tell(self, share: float, what: str) -> None:
        self._view.channel.tell("tour", {"name": self.name, "share": round(share, 3), "what": what})

    def _forget(self) -> None:
        self.name = ""
        self._tell(0.0, "")


class _Progress:
    """Tells how far a tour is, in words and as a share of its steps."""

    def __init__(self, found: replay.Replay, tell: Callable[[float, str], None]):
        self._count, self._tell, self._told_s = len(found.legs), tell, 0.0
        self._leg: replay.Leg | None = None
        self._index, self._share, self.where = 0, 0.0, ""

    def __call__(self, leg: replay.Leg, share: float) -> None:
        begins, now_s = leg is not self._leg or share < self._share, time.monotonic()
        self._leg, self._share, self._index = leg, share, self._index + begins
        if begins or now_s - self._told_s >= TELL_S:
            self._told_s, self.where = now_s, f"step {self._index} of {self._count}: {leg.name}"
            self._tell((self._index - 1 + share) / self._count, self.where)


class LegGoal:
    """A goal that a view began."""

    def __init__(self, body: ViewBody, name: str):
        self._body, self._name = body, name
        body.until(lambda: name in body.outcomes, LinkError("the controller does not answer"))
        said = body.outcomes[name]
        if said.outcome not in GOES:
            raise GoalRefusedError(said.text, subject=said.joint)
        self.duration_s, self._begin_s = said.duration_s, body.now_s

    def ended(self) -> bool:
        said = self._body.outcomes[self._name]
        if said.outcome not in GOES:
            raise GoalAbortedError(said.text, subject=said.joint)
        return said.outcome == EventKind.DONE.outcome

    def progress(self) -> float:
        return min((self._body.now_s - self._begin_s) / max(self.duration_s, 1e-9), 0.99)

    def cancel(self) -> None:
        self._body.view.cancel()


class ViewBody:
    """The arm that a view drives as the body of a script's ``Arm``; ``over`` ends whatever waits for it.

    Attributes:
        outcomes: of the goals since the last one was begun.
    """

    on_sample: Callable[[Sample], None] | None = None

    def __init__(self, view: Toured):
        self.view, self.over = view, threading.Event()
        self.outcomes: dict[str, Outcome] = {}

    @property
    def now_s(self) -> float:
        return self.view.now_s

    @property
    def q(self) -> Array:
        return self.view.held()

    @property
    def held(self) -> Array:
        return self.view.held()

    @property
    def payload(self) -> float:
        return self.view.payload

    def set_payload(self, mass: float) -> None:
        self.view.set(ask.Setting("payload", mass))

    def begin(self, target: Array, duration_s: float) -> LegGoal:
        return self._begun(Wanted(target, duration_s))

    def follow(self, trajectory: Trajectory) -> LegGoal:
        return self._begun(Wanted(trajectory.end, trajectory.duration, trajectory))

    def grip(self, joint: int, at: float) -> LegGoal:
        target = self.view.held()
        target[joint] = at
        return self._begun(Wanted(target, 0.0, gripper=joint))

    def tip_speed(self) -> float | None:
        return self.view.tip_speed

    def surrounded(self, known: Equipment) -> Equipment:
        return self.view.motions.known

    def step(self) -> None:
        if self.over.wait(STEP_S):
            raise EndedError("ended before it was done", subject="tour")

    def close(self) -> None:
        """Close the body alone: the view goes on."""

    def until(self, condition: Callable[[], bool], complaint: PickerError) -> None:
        """Wait for that, a while."""
        ends_s = time.monotonic() + ANSWER_S
        while not condition():
            self.step()
            if time.monotonic() > ends_s:
                raise complaint

    def wait_holding(self) -> None:
        """Wait until nothing moves the arm, as the commands do."""
        moves = GoalRefusedError("refused: the arm moves: wait until it holds, or cancel the motion", subject="controller")
        self.until(lambda: self.view.phase == "holding", moves)

    def _begun(self, wanted: Wanted) -> LegGoal:
        self.wait_holding()
        self.outcomes.clear()
        return LegGoal(self, self.view.begin(wanted))


# -- files -------------------------------------------------------------------------------------------------------------------


def listed(folder: Path, arm: ArmDescription) -> dict[str, Any]:
    """Motions of a folder to make again: taught ones with their steps, or why they cannot be used; the newest recordings."""
    names = sorted(path.name for path in folder.glob("*.yaml"))[:MOST]
    found = [_told(folder / name, arm) for name in names if _is_taught(folder / name)]
    recordings = sorted((one.name for one in folder.glob("*.mcap") if ask.NAME.fullmatch(one.name)), reverse=True)[:RECORDINGS]
    return {"folder": str(folder), "tours": [*found, *({"name": name, "steps": None, "why": ""} for name in recordings)]}


def _told(path: Path, arm: ArmDescription) -> dict[str, Any]:
    try:
        return {"name": path.name, "steps": len(taught.read(path, arm).steps), "why": ""}
    except PickerError as error:
        return {"name": path.name, "steps": None, "why": str(error).removeprefix(f"{path}: ")}


def _is_taught(path: Path) -> bool:
    """Whether a file looks like a taught motion; of others nothing is told."""
    try:
        return (
            ask.NAME.fullmatch(path.name) is not None
            and path.is_file()
            and path.stat().st_size <= LARGEST_BYTES
            and b"\nsteps:" in b"\n" + path.read_bytes()
        )
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
