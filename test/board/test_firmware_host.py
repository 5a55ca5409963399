"""The firmware's C++ core against the golden frames and the host's tables of numbers."""

import ctypes as c
import re
import struct
import subprocess

import pytest
from firmware_bench import GOLDEN, golden, play_golden_session
from firmware_bench import wire as wire_of
from firmware_host import HostFirmware, core
from firmware_tools import require

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import BoardState, Fault, JointLimits, MessageType, Reason
from picker_dynamics.board.protocol.codes import PROTOCOL_VERSION, PULSE_MAX
from picker_dynamics.board.protocol.framing import STUFFED_MAX

require("host")
HEADER = (toolchain.sources() / "picker_firmware/src/core/protocol.h").read_text()


def decode(wire: bytes) -> tuple[int, bytes, int, int]:
    """Good frames, kept bytes of the last one, length of its payload, damaged frames."""
    body, length, bad = c.create_string_buffer(24), c.c_uint8(), c.c_uint16()
    frames = core().picker_decode(wire, len(wire), body, c.byref(length), c.byref(bad))
    return frames, body.raw, length.value, bad.value


def encode(version: int, kind: int, sequence: int, payload: bytes) -> bytes:
    wire = c.create_string_buffer(256)
    length = core().picker_encode(version, kind, sequence, payload, len(payload), wire)
    return wire.raw[:length]


def unstuffed(stuffed: bytes) -> bytes:
    """The inverse of COBS, written down once more for these tests."""
    blocks, at = [], 0
    while at < len(stuffed):
        blocks.append(stuffed[at + 1 : at + stuffed[at]])
        at += stuffed[at]
    return b"\0".join(blocks)


@pytest.mark.parametrize("kind", [MessageType, BoardState, Reason, Fault], ids=lambda kind: kind.__name__)
def test_numbers_are_the_hosts(kind):
    body = re.search(rf"enum class {kind.__name__} : uint8_t {{(.*?)}};", HEADER, re.S).group(1)
    listed = {name: int(number, 0) for name, number in re.findall(r"(\w+) = (\w+),", body)}
    assert listed == {one.name: int(one) for one in kind}


def test_constants_are_the_hosts():
    constants = dict(re.findall(r"(\w+) = (\w+)[,;]", re.sub(r"enum class.*?};", "", HEADER, flags=re.S)))
    expected = {"PROTOCOL_VERSION": PROTOCOL_VERSION, "STUFFED_MAX": STUFFED_MAX, "PULSE_MAX": PULSE_MAX}
    assert {name: int(constants[name], 0) for name in expected} == expected
    version = tuple(map(int, re.search(r"FIRMWARE_VERSION\[3\] = {(.*?)}", HEADER).group(1).split(",")))
    assert version == FirmwareConfig((JointLimits(1, 2, 1, 1),)).firmware_version


@golden("crc16_ccitt_false", "data")
def test_golden_checksums(vector):
    data = bytes.fromhex(vector["data"])
    assert core().picker_crc16(data, len(data)) == int(vector["crc"], 16)


@golden("interpolation", "at_us")
def test_golden_interpolation(vector):
    assert core().picker_interpolate(*(vector[key] for key in ("start_us", "start", "end_us", "end", "at_us"))) == vector["pulse"]


@golden("frames", "name")
def test_golden_frames_are_read_and_written_alike(vector):
    wire = wire_of(vector)
    body = unstuffed(wire[:-1])
    version, kind, sequence = struct.unpack_from("<BBH", body)
    payload = body[4:-2]
    assert (kind, sequence) == (MessageType[vector["message"]], vector["sequence"])
    assert encode(version, kind, sequence, payload) == wire
    frames, kept, length, bad = decode(wire)
    assert (frames, length, bad) == (1, len(payload), 0)
    assert kept[: len(body) - 2] == body[:-2][:24]


@golden("damaged", "name")
def test_golden_damage_yields_no_frame_and_is_counted(vector):
    wire = wire_of(vector)
    frames, _, _, bad = decode(wire)
    assert frames == 0 and bad >= 1
    good = wire_of(GOLDEN["frames"][0])
    assert decode(wire + good)[0] == 1  # and the next frame is read


def test_golden_session():
    play_golden_session(HostFirmware).close()


def test_unit_tests_of_the_core():
    done = subprocess.run([toolchain.library("host").with_name("test_core")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ tests passed$", done.stdout, re.M)
