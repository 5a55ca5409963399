"""What every view has in common: pages that drive or watch, motions that are checked, and what is told to all of them."""

from __future__ import annotations

import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics import __version__
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.nodes.marker_shapes.region import region_of
from picker_dynamics.robot.model import Array, DynamicsModel

from ..equipment import Equipment
from . import asked as ask
from .channel import Channel
from .motions import Motions, Wanted
from .picture import has_pickers_shape, mesh_file, picture
from .standing import LapsedError, Standing
from .told import Instant, pose
from .tours import Tours, listed
from .wheel import Wheel

STATUS_S = 0.2
"""How often it is told how the arm is, where that has changed [s]."""


class View(ABC):
    """Shows one arm to pages, and has it moved by the one that drives.

    Args:
        known: the arm.
        checked: the arm with what its motions are held clear of.
        folder: of the URDF, for meshes beside it, where the description does not know it.
    """

    def __init__(self, known: Equipment, checked: Equipment, folder: str | Path = ""):
        self.known, self.motions = known, Motions(checked)
        self.channel, self.wheel, self.tours = Channel(), Wheel(self.changed_hands), Tours(self)
        self._folder, self._status_s = folder, 0.0
        self._status: Mapping[str, Any] | None = None
        self._region: tuple[float, Mapping[str, Any]] | None = None
        self._model: tuple[float, DynamicsModel] | None = None
        self._asking, self._motions_asked, self._jogs_asked = threading.Lock(), Standing(), Standing()
        self.channel.tell("hello", {"server": secrets.token_hex(6), "version": __version__, "arm": known.description.name})

    # -- what a kind of view has of its own ----------------------------------------------------------------

    @property
    @abstractmethod
    def payload(self) -> float:
        """Payload that the tool is believed to carry [kg]."""

    @property
    @abstractmethod
    def tip_speed(self) -> float | None:
        """Tip speed that the controller allows the tool [m/s]; None: the default."""

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether the arm is enabled."""

    @property
    @abstractmethod
    def phase(self) -> str:
        """Phase of the controller: ``holding`` where nothing moves."""

    @property
    def now_s(self) -> float:
        """The arm's own clock [s]."""
        return time.monotonic()

    @property
    def writes(self) -> str:
        """File to which the arm is recorded now; empty: none."""
        return ""

    @abstractmethod
    def held(self) -> Array:
        """Positions at which the joints should be now, (n,) [rad or m].

        Raises:
            LinkError: nobody says.
        """

    @abstractmethod
    def status(self) -> Mapping[str, Any]:
        """Status of the arm, and what to do."""

    @abstractmethod
    def take_arm(self) -> None:
        """Take the arm for motions of the page that drives.

        Raises:
            PickerError: somebody else has it.
        """

    @abstractmethod
    def begin(self, wanted: Wanted, stands: Callable[[], None] = lambda: None) -> str:
        """Start a motion; its name.

        Args:
            stands: raises a PickerError where it was ended since it was asked for.

        Raises:
            PickerError: the arm is not ready.
        """

    @abstractmethod
    def jog(self, asked: ask.Jog | None) -> None:
        """Jog the arm as is asked, for a moment; None: let go."""

    @abstractmethod
    def cancel(self) -> None:
        """Let whatever moves decelerate to a hold."""

    @abstractmethod
    def stop(self) -> str:
        """Latch the stop, at once; what came of it."""

    @abstractmethod
    def serve(self, asked: ask.Plain) -> str:
        """Reset or enable; what came of it."""

    @abstractmethod
    def set(self, asked: ask.Setting) -> None:
        """Set payload, compensation or speed."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the arm; nothing is told any more."""

    def record(self, on: bool) -> str:
        """Begin or end a recording; what came of it, with the file."""
        raise InputError("nothing can be recorded here", subject="record")

    def play(self, asked: ask.Play) -> None:
        """Show a recording from a place on its time line."""
        raise InputError("this is no recording", subject="play")

    # -- what is told ----------------------------------------------------------------------------------------

    def tell(self, seen: Instant, time_s: float, now_s: float) -> None:
        """Tell the pages where the arm is and, where that has changed, how it is.

        Args:
            time_s: of the arm's own clock, for curves; now_s: on the monotonic clock.
        """
        self.channel.tell("pose", pose(self.model, seen, time_s))
        if now_s - self._status_s >= STATUS_S:
            self._status_s = now_s
            if (status := {**self.status(), "driver": self.wheel.driver, "writes": self.writes}) != self._status:
                self._status = status
                self.channel.tell("status", status)

    def say(self, text: str, level: str = "ok", **about: Any) -> None:
        """Say something to all pages."""
        self.channel.say({"text": text, "level": level, "time": round(time.time(), 1), **about})

    @property
    def model(self) -> DynamicsModel:
        """The arm with what it carries."""
        payload = self.payload
        if self._model is None or self._model[0] != payload:
            self._model = payload, self.known.model(payload)
        return self._model[1]

    # -- what is asked ---------------------------------------------------------------------------------------

    def picture(self) -> Mapping[str, Any]:
        """The arm as a page draws it."""
        return picture(self.known)

    def mesh(self, number: int) -> Path | None:
        """File of a mesh that the URDF names, by number."""
        return mesh_file(self.known.description, number, self._folder)

    def look_up(self, what: str) -> Mapping[str, Any]:
        """Look up what takes long to make, or is seldom asked for."""
        if what == "region":
            return self._cannot_be_held()
        if what == "tours":
            return listed(self.tours.folder, self.known.description)
        raise InputError(f"there is no {what}", subject="request")

    def check(self, asked: ask.ToJoints | ask.ToTip) -> Mapping[str, Any]:
        """Check whether a motion may be made, and where it would lead; nothing moves."""
        return self.motions.check(asked, self.held(), self.payload, self.tip_speed)

    def do(self, asked: ask.Asked, page: str) -> Mapping[str, Any]:
        """Carry out a request of a page, which drives from then on, if it may.

        Raises:
            PickerError: it is refused.
        """
        if asked == ask.Plain("leave"):
            self.wheel.leave(page)
            return {}
        if asked == ask.Plain("cancel"):
            self.lapse()
            self.cancel()
            return {"said": "decelerating to a hold"}
        if isinstance(asked, ask.Plain) and asked.what in ("record", "record_end"):
            return {"said": self._said_of_recording(asked.what == "record")}
        if isinstance(asked, ask.Play):
            self.play(asked)
            return {}
        if isinstance(asked, ask.Jog) and not asked.moves:
            self._jogs_asked.lapse()
            self.jog(None)
            return {}
        standing = self._jogs_asked if isinstance(asked, ask.Jog) else self._motions_asked
        ended = standing.ended
        over = isinstance(asked, ask.Plain) and asked.over
        ended += self.wheel.take(page, time.monotonic(), over=over)  # a refusal is that page's alone: no other is told
        try:
            with self._asking:
                if self.wheel.driver != page:
                    raise LapsedError("this page has let go, or another one has taken over", subject="page")
                return self._done(asked, page, partial(standing.require, ended))
        except LapsedError:
            if isinstance(asked, ask.Jog):
                return {}
            raise
        except PickerError as error:
            self.say(str(error), "error", joint=error.subject or "", outcome=EventKind.REFUSED.outcome)
            raise

    def changed_hands(self, driven: bool) -> None:
        """Note that another page drives, or none (``driven``: whether one does)."""
        self.lapse()
        self.jog(None)

    def lapse(self) -> None:
        """Let lapse all that pages asked for: none of it begins any more, and what is under way in steps takes no further one."""
        self._motions_asked.lapse()
        self._jogs_asked.lapse()
        self.tours.end()

    def _done(self, asked: ask.Asked, page: str, stands: Callable[[], None]) -> Mapping[str, Any]:
        if isinstance(asked, ask.Plain) and asked.what in ("reset", "enable"):
            stands()
            self.say(said := self.serve(asked))
            return {"said": said}
        if isinstance(asked, ask.Setting):
            self.set(asked)
            self.say(f"{asked.name}: {asked.value}{ask.UNITS.get(asked.name, '')}")
            return {}
        if isinstance(asked, ask.Plain) and asked.what == "drive" and not self.ready:
            return {}  # so that it can reset and enable
        if self.tours.name and not (isinstance(asked, ask.Plain) and asked.what == "drive"):
            raise PickerError(f"{self.tours.name} is under way: end it first", subject="tour")
        try:
            self.take_arm()
        except PickerError:
            self.wheel.leave(page)
            raise
        if self.wheel.driver != page:
            self.wheel.give_back()
            raise LapsedError("let go before it began", subject="page")
        if isinstance(asked, ask.Jog):
            with self._jogs_asked.lock:
                stands()
                self.jog(asked)
            return {}
        if isinstance(asked, ask.Plain) and asked.what == "drive":
            return {}
        if isinstance(asked, (ask.Tour, ask.Pick)):
            return self.tours.begin(asked, stands)
        poses = {ask.Plain("home"): self.known.home, ask.Plain("park"): self.known.rest}
        if isinstance(asked, ask.Plain) and asked in poses:
            asked = ask.ToJoints(dict(zip(self.known.description.joint_names, poses[asked].tolist())))
        if not isinstance(asked, (ask.ToJoints, ask.ToTip, ask.Step)):
            raise InputError("that cannot be asked for here", subject="request")
        return {"goal": self.begin(self.motions.wanted(asked, self.held(), self.payload, self.tip_speed), stands)}

    def _said_of_recording(self, on: bool) -> str:
        """Of any page: whoever watches may record, too."""
        try:
            said = self.record(on)
        except PickerError as error:
            self.say(str(error), "error")
            raise
        self.say(said)
        return said

    def _cannot_be_held(self) -> Mapping[str, Any]:
        arm, payload = self.known.description, self.payload
        if not has_pickers_shape(arm):
            return {"cells": []}
        if self._region is None or self._region[0] != payload:
            region = region_of(arm, self.known.model(payload), self.known.limits.hold)
            bad = region.share > 1.0
            cells = np.column_stack([region.centres[bad], region.share[bad]]).round(4)
            self._region = payload, {"cells": cells.tolist(), "cell_m": region.cell_m, "payload_kg": payload}
        return self._region[1]
