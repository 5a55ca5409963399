"""The transport over a serial port of the system: a pseudo-terminal, at whose other end simulated servos answer."""

import os
import threading
import tty

import pytest

from picker_dynamics.bus import frames
from picker_dynamics.bus.dialects import SCS, STS
from picker_dynamics.bus.transport import FeetechBus, Reply
from picker_dynamics.errors import LinkError, NoPortError
from picker_dynamics.sim.bus_servo import SimulatedServo


class Line:
    """Servos 1 to 3 on a pseudo-terminal; ``harm`` is done to replies."""

    def __init__(self, dialect):
        self.dialect = dialect
        self._end, other = os.openpty()
        tty.setraw(other)
        self.name, self._other = os.ttyname(other), other
        self.servos = [SimulatedServo(number, 7.4, dialect) for number in (1, 2, 3)]
        for servo in self.servos:
            servo.power(True)
        self.harm = lambda _servo, frame: frame
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        buffer = bytearray()
        while data := os.read(self._end, 4096):
            if data == b"end":
                return
            buffer += data
            for request in frames.take(buffer)[0]:
                for servo in self.servos:
                    if (reply := servo.answer(request)) is not None:
                        os.write(self._end, self.harm(servo.id, reply))

    def close(self):
        os.write(self._other, b"end")
        self._thread.join()
        os.close(self._end)
        os.close(self._other)


PATIENCE_S = 0.5
"""Of a bus whose servos are threads of a busy computer [s]."""


@pytest.fixture(params=[STS, SCS], ids=lambda dialect: dialect.name)
def line(request):
    made = Line(request.param)
    yield made
    made.close()


def test_servos_are_read_and_written_with_their_status(line):
    bus = FeetechBus(line.name, 1_000_000, line.dialect.sync_reads, patience_s=PATIENCE_S)
    bus.open()
    line.servos[1].put("present_status", 0x20)
    model = next(iter(line.dialect.models)).to_bytes(2, "big" if line.dialect.big_endian else "little")
    assert bus.sync_read((1, 2, 3), 3, 2) == [Reply(0, model), Reply(0x20, model), Reply(0, model)]
    assert bus.write(3, *line.dialect.block({"torque": 1})) == Reply(0, b"")
    bus.sync_write(40, {1: b"\1", 2: b"\1"})
    assert bus.read(2, 40, 1) == Reply(0x20, b"\1")
    assert [servo.torque for servo in line.servos] == [True, True, True]
    bus.close()
    with pytest.raises(LinkError, match="is not open"):
        bus.read(1, 3, 2)


def test_a_missing_and_a_damaged_reply_take_no_other_with_them(line):
    bus = FeetechBus(line.name, 1_000_000, line.dialect.sync_reads, patience_s=PATIENCE_S)
    bus.open()
    harmed = {1: lambda frame: b"", 2: lambda frame: frame[:-1] + bytes((frame[-1] ^ 1,)), 3: lambda frame: frame}
    line.harm = lambda servo, frame: harmed[servo](frame)
    assert [one is None for one in bus.sync_read((1, 2, 3), 3, 2)] == [True, True, False]
    assert bus.damaged
    line.harm = lambda servo, frame: frame[:4]
    assert bus.sync_read((1, 2, 3), 3, 2) == [None, None, None]
    line.harm = lambda _servo, frame: frame
    assert None not in bus.sync_read((1, 2, 3), 3, 2), "what came before is forgotten"
    bus.close()


def test_there_is_no_port():
    with pytest.raises(NoPortError, match="is the board plugged in"):
        FeetechBus("/dev/there_is_none", 1_000_000).open()
