"""The virtual board with an audit of every set-point: ``python -m benchmarks.kept_board``, arguments as of ``sim.board``.

The audit (``ledger``) wraps the firmware and sees its bytes and outputs; the virtual board knows nothing of it.  The control
socket answers one command more: ``ledger``.
"""

from __future__ import annotations

import sys
from typing import Any

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.protocol import TIME_MODULUS
from picker_dynamics.sim import board
from picker_dynamics.sim.virtual_board import VirtualBoard

from .ledger import Ledger


class KeptFirmware:
    """A firmware and its ledger; everything else than time and bytes goes to the firmware as it is.

    Args:
        firmware: that is observed.
        ledger: that observes it.
    """

    def __init__(self, firmware: Any, ledger: Ledger):
        self._firmware, self.ledger, self._said = firmware, ledger, b""

    def __getattr__(self, name: str) -> Any:
        if name == "due_us":  # the audit looks at every frame: the board must not pass over any
            raise AttributeError(name)
        return getattr(self._firmware, name)

    @property
    def feedback(self) -> tuple[int | None, ...]:
        """ADC values of the joints' potentiometers."""
        return self._firmware.feedback

    @feedback.setter
    def feedback(self, counts: tuple[int | None, ...]) -> None:
        self._firmware.feedback = counts

    def advance(self, now_us: int) -> None:
        """Advance the firmware, and look at its outputs."""
        self._firmware.advance(now_us)
        self.ledger.look(self._firmware, now_us)

    def receive(self, data: bytes, now_us: int) -> None:
        """Hand bytes to the ledger and to the firmware; what was said before belongs to earlier bytes."""
        self.advance(now_us)
        self._listen()
        self.ledger.received(data, deaf=self._firmware.board_time_us(now_us) > TIME_MODULUS // 2)
        self._firmware.receive(data, now_us)
        self._listen()

    def transmit(self) -> bytes:
        """Bytes that the firmware has to send."""
        self._listen()
        data, self._said = self._said, b""
        return data

    def _listen(self) -> None:
        data = self._firmware.transmit()
        self.ledger.answered(data)
        self._said += data


class KeptBoard(VirtualBoard):
    """A virtual board whose firmware is observed; arguments as of ``VirtualBoard``."""

    def __init__(self, plant: Any, servos: Any, *args: Any, **options: Any):
        super().__init__(plant, servos, *args, **options)
        self.ledger = Ledger(board_limits(servos), round(servos.frame_s * 1e6), servos.joint_names)
        self.firmware = KeptFirmware(self.firmware, self.ledger)
        self._unplugged, self._plug_in = False, self.port.plug_in
        self.port.plug_in = self._plugged_in

    def answer(self, request: dict) -> dict:
        """Reply to a request of the control socket."""
        if request.get("command") == "ledger":
            return {"ok": True, **self.ledger.as_dict()}
        reply = super().answer(request)
        self._unplugged |= request.get("command") == "unplug" and reply["ok"]
        if request.get("command") in ("wire", "unplug"):
            self._note_wire()
        return reply

    def _plugged_in(self) -> None:
        self._plug_in()
        self._unplugged = False
        self._note_wire()
        self.ledger.plugged_in()

    def _note_wire(self) -> None:
        """Tell the ledger whether bytes are lost on purpose."""
        disturbed = self._unplugged or self.port.wire.drop or self.port.wire.corrupt
        (self.ledger.disturbed if disturbed else self.ledger.quiet)()


if __name__ == "__main__":
    board.VirtualBoard = KeptBoard
    sys.exit(board.main())
