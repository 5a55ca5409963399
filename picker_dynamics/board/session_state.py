"""Where a hardware session stands, and what became of the commands it was given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    OFFLINE = "offline"
    IDLE = "idle"
    ENABLING = "enabling"
    ACTIVE = "active"


@dataclass
class CommandCounts:
    """What became of the commands: every one that came is in exactly one of these."""

    sent: int = 0
    not_active: int = 0
    away: int = 0
    stale: int = 0
    invalid: int = 0
    failed: int = 0
    thinned: int = 0
