"""Serial-number arithmetic on the board's 32-bit microseconds, which wrap around every 71.6 minutes.

References:
    [1] R. Elz, R. Bush, "Serial Number Arithmetic", RFC 1982, 1996.
"""

from __future__ import annotations

TIME_MODULUS = 1 << 32
_HALF = TIME_MODULUS >> 1


def ahead_us(later: int, earlier: int) -> int:
    """Signed distance later - earlier [us] in [-2^31, 2^31), as ``(int32_t)(later - earlier)`` in C."""
    return ((later - earlier + _HALF) & (TIME_MODULUS - 1)) - _HALF
