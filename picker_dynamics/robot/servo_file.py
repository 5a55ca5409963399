"""Servo map's YAML: what a map and its overlay say of the board and of each joint's servo, put together.

Layers, the later wins:  defaults and joints of the map, then defaults and joints of the overlay.  A ``type`` in any of them
stands for the figures of its data sheet, beneath what is given beside it.  An overlay in JSON is LeRobot's calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.fields import mapping, number
from picker_dynamics.files.formats import read_yaml

from .file_fields import TICK, TICKS, TURN
from .lerobot_calibration import overlay_of
from .servo_types import servo_type

PULSE_RANGE_US = (400.0, True, 2600.0)
"""Pulses that no map may leave [us]: what hobby servos understand."""

HORN_RANGE_DEG = (-720.0, 720.0)
"""Of the horn angles of a map [deg]: no servo turns further."""

CHANNELS = 16
"""Outputs of a PCA9685."""

Entry = dict[str, Any]


def read_layers(
    path: str | Path, joint_names: Sequence[str], overlay: str | Path | None, board_keys: Sequence[str], servo_keys: Sequence[str]
) -> tuple[Entry, dict[str, Entry]]:
    """What is given of the board, and of each servo of ``joint_names``, in order.

    Raises:
        ConfigurationError: unreadable file, unknown joint or key, or a joint that is missing.
    """
    layers = list[Entry]()
    for source in (path, overlay) if overlay is not None else (path,):
        layer = read_yaml(source, "servo map", ConfigurationError)
        if layers and Path(source).suffix == ".json":
            layer = overlay_of(layer, layers[0].get("joints", {}), str(source))
        layer = mapping(layer, str(source), ("board", "defaults", "joints"))
        for part, allowed in (("board", board_keys), ("defaults", servo_keys), ("joints", joint_names)):
            mapping(layer.get(part, {}), f"{source}: {part}", allowed)
        for joint, entry in layer.get("joints", {}).items():
            mapping(entry, f"{source}: {joint}", servo_keys, joint)
        layers.append(layer)
    board: Entry = {}
    for layer in layers:
        board |= layer.get("board", {})
    entries = {}
    for joint in joint_names:
        if not any(joint in layer.get("joints", {}) for layer in layers):
            has = ", ".join(layers[0].get("joints", {})) or "none"
            raise ConfigurationError(f"{path}: joint {joint} is missing; it has {has}", joint)
        entries[joint] = Entry()
        for one in (part for layer in layers for part in (layer.get("defaults", {}), layer.get("joints", {}).get(joint, {}))):
            if "type" in one:
                try:
                    entries[joint] |= servo_type(one["type"]).figures_at(board.get("supply_v"))
                except ConfigurationError as error:
                    raise ConfigurationError(f"{joint}: {error}", joint, error.value, error.limit) from error
            entries[joint] |= {key: value for key, value in one.items() if key != "type"}
    return board, entries


def pulse_map(joint: str, value: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Horn angles [rad] and pulses [us] of a map, both rising."""
    if not isinstance(value, list) or len(value) < 2 or any(not isinstance(point, list) or len(point) != 2 for point in value):
        raise ConfigurationError(f"{joint}: pulse_map is {value!r}, must be two or more [horn_deg, pulse_us]", joint, value)
    horn_range = (HORN_RANGE_DEG[0], True, HORN_RANGE_DEG[1])
    horns = tuple(number(angle, f"{joint}: pulse_map horn_deg", horn_range, joint) for angle, _ in value)
    pulses = tuple(number(pulse, f"{joint}: pulse_map pulse_us", PULSE_RANGE_US, joint) for _, pulse in value)
    falls = [all(after < before for before, after in zip(column, column[1:])) for column in (horns, pulses)]
    hint = ("", "; a servo that turns the other way has rising columns too, and direction: -1")[falls[0] != falls[1]]
    for column, unit in ((horns, "deg"), (pulses, "us")):
        for before, after in zip(column, column[1:]):
            if after <= before:
                said = f"{joint}: pulse_map must increase, but {after:g} {unit} follows {before:g} {unit}{hint}"
                raise ConfigurationError(said, joint, after, before)
    return tuple(horn * TURN for horn in horns), pulses


def between_ticks(joint: str, ticks: Any, horns: tuple[float, ...], pulses: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """The ends of a pulse map that a bus servo's ``ticks``, least and most, leave: horn angles [rad] and pulses [us]."""
    if not isinstance(ticks, list) or len(ticks) != 2:
        raise ConfigurationError(f"{joint}: ticks is {ticks!r}, must be [least, most]", joint, ticks)
    least, most = (number(tick, f"{joint}: ticks", (0.0, True, TICKS - 1.0), joint) for tick in ticks)
    if most <= least:
        raise ConfigurationError(f"{joint}: ticks must increase, but {most:g} follows {least:g}", joint, most, least)
    ends = np.clip([(tick - TICKS // 2) * TICK for tick in (least, most)], horns[0], horns[-1])
    return tuple(ends.tolist()), tuple(np.interp(ends, horns, pulses).tolist())
