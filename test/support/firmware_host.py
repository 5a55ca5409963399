"""The firmware's C++ core, compiled for this machine: ``HostFirmware`` looks to its owner like a ``VirtualFirmware``."""

import ctypes as c
import functools

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.protocol import TIME_MODULUS, BoardState, Fault, limits_checksum

JOINTS_MAX = 8
_Pulses = c.c_uint16 * JOINTS_MAX


class _Settings(c.Structure):
    _fields_ = [
        ("joints", c.c_uint8),
        ("queue_capacity", c.c_uint8),
        ("boot_id", c.c_uint16),
        ("limits", (c.c_uint16 * 4) * JOINTS_MAX),
        ("limits_crc", c.c_uint16),
        ("resolution_ns", c.c_uint16),
        ("frame_us", c.c_uint16),
        ("host_timeout_ms", c.c_uint16),
        ("max_lead_ms", c.c_uint16),
        ("supply_min_mv", c.c_uint16),
        ("start_time_us", c.c_uint32),
        ("found", _Pulses),
        ("gravity", c.c_uint8),
        ("small_transmit", c.c_uint8),
    ]


class _View(c.Structure):
    _fields_ = [
        ("pulses", _Pulses),
        ("faults", c.c_uint16),
        ("state", c.c_uint8),
        ("live", c.c_uint8),
        ("owned", c.c_uint8),
        ("limited", c.c_uint8),
    ]


def _declare(library: c.CDLL) -> c.CDLL:
    board, data, size, u8, u16, u32 = c.c_void_p, c.c_char_p, c.c_size_t, c.c_uint8, c.c_uint16, c.c_uint32
    for name, result, arguments in (
        ("create", board, [c.POINTER(_Settings)]),
        ("destroy", None, [board]),
        ("advance", None, [board, u32]),
        ("receive", size, [board, data, size, u32]),
        ("transmit", size, [board, data, size]),
        ("look", None, [board, c.POINTER(_View)]),
        ("set_cause", None, [board, u8, c.c_int]),
        ("set_supply", None, [board, u16]),
        ("crc16", u16, [data, size]),
        ("interpolate", u16, [u32, u16, u32, u16, u32]),
        ("encode", size, [u8, u8, u16, data, size, data]),
        ("decode", size, [data, size, data, c.POINTER(u8), c.POINTER(u16)]),
    ):
        function = getattr(library, f"picker_{name}")
        function.restype, function.argtypes = result, arguments
    return library


@functools.cache
def core() -> c.CDLL:
    """The core as a library."""
    return _declare(c.CDLL(str(toolchain.library("host"))))


class HostFirmware:
    """One board.  ``config`` is a ``FirmwareConfig``."""

    def __init__(self, config, *, boot_id=1, found=(), now_us=0, gravity=False):
        limits = [(joint.lowest, joint.highest, joint.speed, joint.brake) for joint in config.joints]
        self._library = library = core()
        self._view, self._booted_us, self.config = _View(), now_us, config
        settings = _Settings(
            len(limits),
            config.queue_capacity,
            boot_id,
            tuple(limits),
            limits_checksum(config.joints),
            config.resolution_ns,
            config.frame_us,
            config.host_timeout_ms,
            config.max_lead_ms,
            config.supply_min_mv,
            config.start_time_us,
            _Pulses(*found),
            gravity,
        )
        self._board = library.picker_create(c.byref(settings))
        assert self._board, "these settings do not fit the core"
        self._room = c.create_string_buffer(1 << 16)

    def close(self):
        self._library.picker_destroy(self._board)

    def board_time_us(self, now_us):
        return (now_us - self._booted_us + self.config.start_time_us) % TIME_MODULUS

    def advance(self, now_us):
        self._library.picker_advance(self._board, self.board_time_us(now_us))

    def receive(self, data, now_us):
        return self._library.picker_receive(self._board, bytes(data), len(data), self.board_time_us(now_us))

    def transmit(self, room=1 << 16):
        count = self._library.picker_transmit(self._board, self._room, room)
        return self._room.raw[:count]

    def _look(self):
        self._library.picker_look(self._board, c.byref(self._view))
        return self._view

    @property
    def pulses(self):
        return tuple(self._look().pulses[: len(self.config.joints)])

    @property
    def state(self):
        return BoardState(self._look().state)

    faults = property(lambda self: self._look().faults)
    live = property(lambda self: self._look().live)
    owned = property(lambda self: self._look().owned)

    def set_cause(self, fault: Fault, present: bool):
        self._library.picker_set_cause(self._board, fault, present)

    def set_supply(self, supply_mv):
        self._library.picker_set_supply(self._board, supply_mv)
