"""Hardware status: what ``hardware/status`` says, as fields; its message is for people."""

from __future__ import annotations

from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticStatus

from picker_dynamics.board.session import State

from .diagnostics import values_of


@dataclass(frozen=True)
class HardwareStatus:
    """State of whoever commands an arm's outputs.

    Attributes:
        state: of the session; None: not heard yet.
        problem: what there is to say about it; empty: all is well.
        commanded: whether commands of this epoch have come.
        confirmed: whether the board says what becomes of them.
        provenance: where ``joint_states`` come from; empty: not known.
        message: problem or state, for people.
    """

    state: State | None = None
    problem: str = ""
    commanded: bool = True
    confirmed: bool = True
    provenance: str = ""
    message: str = ""

    @classmethod
    def of(cls, message: DiagnosticStatus) -> HardwareStatus:
        """Status of the hardware, as a message says it."""
        values, states = values_of(message), {one.value: one for one in State}
        return cls(
            states.get(values.get("state", "")),
            values.get("problem", ""),
            values.get("commanded", "true") == "true",
            values.get("confirmed", "true") == "true",
            values.get("provenance", ""),
            message.message,
        )

    @property
    def active(self) -> bool:
        """Whether the hardware follows commands."""
        return self.state is State.ACTIVE
