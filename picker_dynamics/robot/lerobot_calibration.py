"""LeRobot's calibration of an arm, a JSON file, as differences from a servo map.

LeRobot's zero is the middle of the range through which a person turned the joint; a gripper is counted from its closed end:

    tick(q) = (range_min + range_max) / 2 + direction q / TICK        of a gripper: closed end + direction (q - q_contact) / TICK

LeRobot itself counts degrees upwards whatever drive_mode says, and writes 0 there; here 1 turns the joint's direction round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from picker_dynamics.files.fields import mapping, number

from .file_fields import TICK, TICKS

KEYS = ("id", "drive_mode", "homing_offset", "range_min", "range_max")


def overlay_of(calibration: Any, joints: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The calibration as an overlay of a servo map.

    Args:
        calibration: joint -> ``KEYS``.
        joints: of the servo map; one with a ``grip`` is a gripper.
        where: the file, for errors.

    Raises:
        ConfigurationError: not such a calibration; names joint and key.
    """
    made = {}
    for joint, entry in mapping(calibration, where).items():
        given = mapping(entry, f"{where}: {joint}", KEYS, joint)
        for key in KEYS:
            number(given.get(key), f"{where}: {joint}: {key}", subject=joint)
        direction, ends = -1 if given["drive_mode"] else 1, [given["range_min"], given["range_max"]]
        zero = (0.5 * sum(ends) - TICKS // 2) * TICK
        if grip := joints.get(joint, {}).get("grip"):
            contact = number(mapping(grip, f"{joint}: grip").get("contact_rad"), f"{joint}: grip.contact_rad", subject=joint)
            zero = (ends[direction < 0] - TICKS // 2) * TICK - direction * contact
        known = {"id": given["id"], "homing_offset": given["homing_offset"], "direction": direction}
        made[joint] = known | {"ticks": ends, "zero_deg": math.degrees(zero)}
    return {"joints": made}
