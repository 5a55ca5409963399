"""Finding of the URDF linter."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something wrong, or unlikely, about a link or the joint that carries it.

    Attributes:
        link: the link; for a joint its child link.
        what: which of its numbers.
        value: that number with its unit, as text.
        reason: why it cannot be, or is unlikely.
        fatal: no simulation is possible with it.
    """

    link: str
    what: str
    value: str
    reason: str
    fatal: bool = False

    def __str__(self) -> str:
        return f"link {self.link}: {self.what} is {self.value}: {self.reason}"
