"""What a view of a running arm and one of a recording have in common: what pages are told."""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics import __version__
from picker_dynamics.nodes.region import region_of

from ..equipment import Equipment
from .channel import Channel
from .picture import mesh_file, picture
from .requests import Request

LOOK_S = 1.0 / 30.0
"""How often pages are told where the arm is [s]."""

STATUS_S = 0.25
"""How often they are told how the arm is, where that has changed [s]."""

LONGEST_S = 99.0
"""Of an age that is told."""

FRESH_S = 0.5
"""A torque that is older is not shown [s]."""

Seen = tuple[ArrayLike | None, float]
"""A vector (n,), None where it is not known, with its age [s]."""


class View(ABC):
    """Shows one arm to pages.

    Args:
        known: the arm.
        folder: of the URDF, for meshes beside it, where the description does not know it.
    """

    def __init__(self, known: Equipment, folder: str | Path = ""):
        self.known, self.channel = known, Channel()
        self._folder, self._status_s = folder, 0.0
        self._status: Mapping[str, Any] | None = None
        self.channel.tell("hello", {"server": secrets.token_hex(6), "version": __version__, "arm": known.description.name})

    @property
    @abstractmethod
    def payload(self) -> float:
        """Payload that the tool is believed to carry [kg]."""

    @abstractmethod
    def status(self) -> Mapping[str, Any]:
        """Status of the arm, and what to do."""

    @abstractmethod
    def do(self, asked: Request, page: str, seen: str | None = None) -> Mapping[str, Any]:
        """Carry out a request of a page, which drives from then on, if it may.

        Args:
            seen: the newest ``seen`` that the page has been told; None: it asks now.

        Raises:
            PickerError: it is refused.
        """

    @abstractmethod
    def check(self, asked: Request) -> Mapping[str, Any]:
        """Check whether a motion may be made, and where it would lead; nothing moves."""

    @abstractmethod
    def stop(self) -> str:
        """Latch the stop, at once; what came of it."""

    def seen(self) -> str:
        """What a page has seen that is told this now: epoch of requests, and time on this process's clock [s]."""
        return f"{self.epoch} {time.monotonic():.3f}"

    @property
    def epoch(self) -> int:
        """Epoch of requests (``board/request_gate.py``)."""
        return 0

    def picture(self) -> Mapping[str, Any]:
        """The arm as a page draws it."""
        return picture(self.known, self._folder)

    def mesh(self, number: int) -> Path | None:
        """File of a mesh that the URDF names, by number."""
        return mesh_file(self.known.description, number, self._folder)

    def region(self) -> Mapping[str, Any]:
        """Cells (x, z) of the arm's plane where the tip cannot be held with the present payload [m]; errors as ``region_of``."""
        found = region_of(self.known.description, self.known.model(self.payload), self.known.limits.hold)
        return {"cells": rounded(found.centres[found.share > 1.0]), "cell_m": found.cell_m}

    def listed_tours(self) -> Mapping[str, Any]:
        """Taught motions and recordings that can be made again."""
        return {"folder": "", "tours": []}

    def tell(self, time_s: float, torque: Seen, seen: Mapping[str, Seen]) -> None:
        """Tell the pages where the arm is and, where that has changed, how it is.

        Args:
            time_s: on any one clock, for curves.
            torque: that the joints have to give; where it is not known, or old, what gravity asks for is told.
            seen: ``state``, ``reference`` and ``truth``.
        """
        model = self.known.model(self.payload)
        told: dict[str, Any] = {"t": round(time_s, 3), "seen": self.seen(), "age": {}, "q": {}, "tip": {}}
        for name, (q, age_s) in seen.items():
            if q is not None:
                told["q"][name], told["tip"][name] = rounded(q), rounded(model.forward_kinematics(q))
                told["age"][name] = round(min(age_s, LONGEST_S), 2)
        if torque[0] is not None and torque[1] < FRESH_S:
            told["torque"], told["torque_of"] = rounded(torque[0]), "command"
        elif seen["state"][0] is not None:
            told["torque"], told["torque_of"] = rounded(model.gravity(seen["state"][0])), "gravity"
        self.channel.tell("pose", told)
        if (now_s := time.monotonic()) - self._status_s >= STATUS_S:
            self._status_s = now_s
            if (status := self.status()) != self._status:
                self._status = status
                self.channel.tell("status", status)

    def say(self, text: str, level: str = "ok", **about: Any) -> None:
        """Say something to all pages."""
        self.channel.tell("said", {"text": text, "level": level, "time": round(time.time(), 1), **about})


def rounded(values: ArrayLike) -> list[Any]:
    """Numbers as a page needs them: tenths of a milliradian, and of a millimetre, ten times finer."""
    found: list[Any] = np.round(np.asarray(values, dtype=float), 5).tolist()
    return found
