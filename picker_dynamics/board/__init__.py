"""From a set-point to bytes on the wire and back: protocol, serial link, the session that owns the board, the firmware's build
and its conformance checks.  Imports ``robot``, ``control`` and, for the firmware's gravity model, ``dynamics``.
"""

__all__ = [
    "clock",
    "clock_fit",
    "command_timing",
    "conformance",
    "doctor_report",
    "firmware",
    "hardware_session",
    "link",
    "protocol",
    "request_gate",
    "session",
    "setpoint_guard",
    "setpoint_sender",
    "stamp_clock",
    "torque_session",
]
