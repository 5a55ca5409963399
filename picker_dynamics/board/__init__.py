"""From a set-point to bytes on the wire and back: protocol, serial link, the session that owns the board, the firmware's build,
and what ``picker doctor`` checks.  Imports ``robot``, ``control`` and, for the firmware's gravity model, ``dynamics``.
"""

__all__ = [
    "clock",
    "clock_fit",
    "command_timing",
    "doctor_checks",
    "doctor_report",
    "doctor_session",
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
