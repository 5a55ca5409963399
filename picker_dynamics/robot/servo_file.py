"""Reader of the servo map's YAML: layers merged, every key known, every value in its range; no arithmetic here.

Layers, the later wins:  defaults and joints of the map, then defaults and joints of the overlay.  A ``type`` in any of them
stands for the figures of its data sheet, beneath what is given beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.fields import Bounds, mapping, number
from picker_dynamics.files.formats import read_yaml

from .servo_types import servo_type

PULSE_RANGE_US = (400.0, 2600.0)
"""Pulses that no map may leave [us]: what hobby servos understand."""

HORN_RANGE_DEG = (-720.0, 720.0)
"""Of the horn angles of a map [deg]: no servo turns further."""

CHANNELS = 16
"""Outputs of a PCA9685."""

FEEDBACK_ADCS = (0, 1, 2, 3)
"""Analogue inputs for feedback potentiometers: A4 and A5 are the I2C bus."""

SUPPLY_ADCS = (*FEEDBACK_ADCS, 6, 7)
"""Analogue inputs for the servo supply: a Nano has A6 and A7 too."""

OSCILLATOR_HZ = 25e6
"""What a PCA9685's oscillator is meant to run at [Hz]."""

Entry = dict[str, Any]
"""Keys and values as YAML has them, or as they were read: numbers, texts, mappings, None."""

NUMBERS: dict[str, Bounds] = {
    "zero_deg": (-360.0, True, 360.0),
    "stall_torque_nm": (0.0, False, 1e4),
    "no_load_speed_rad_s": (0.0, False, 1e4),
    "stiffness_nm_rad": (0.0, False, 1e6),
    "deadband_us": (0.0, True, 100.0),
    "armature_kg_m2": (0.0, True, 1.0),
    "load_friction": (0.0, True, 0.9),
    "coulomb_nm": (0.0, True, 1e4),
    "play_deg": (0.0, True, 20.0),
    "peak_share": (0.0, False, 1.0),
    "hold_share": (0.0, False, 1.0),
    "rest_rad": (-100.0, True, 100.0),
    "home_rad": (-100.0, True, 100.0),
    "setpoint_speed_rad_s": (0.0, False, 1e4),
    "pinion_mm": (0.0, False, 1000.0),
}
SLIDING = {"rest_rad": "rest_m", "home_rad": "home_m"}
"""What keys are called for a sliding joint, one with a pinion."""

BOARD: dict[str, Bounds] = {
    "frame_us": (1000.0, True, 100000.0),
    "quantum_us": (0.0, False, 100.0),
    "oscillator_hz": (20e6, True, 30e6),
}
BOARD_OPTIONAL: Entry = {"oscillator_hz": OSCILLATOR_HZ, "supply": None, "supply_a": None, "supply_v": None, "supply_ohm": 0.0}
SUPPLY_V: Bounds = (0.0, False, 60.0)
SUPPLY_OHM: Bounds = (0.0, True, 10.0)
SUPPLY_A: Bounds = (0.0, False, 1000.0)
SUPPLY: dict[str, Bounds] = {"divider": (1.0, True, 20.0), "minimum_v": (0.0, False, 60.0)}
GRIP: dict[str, Bounds] = {"contact_rad": (-100.0, True, 100.0), "torque_nm": (0.0, False, 1e4)}
ELECTRIC: dict[str, Bounds] = {
    "stall_a": (0.0, False, 100.0),
    "idle_a": (0.0, True, 10.0),
    "stall_rise_k": (0.0, False, 10_000.0),
    "thermal_s": (0.0, False, 100_000.0),
}
JOINT_KEYS = ("channel", "direction", "pulse_map", *NUMBERS, "grip", "feedback_adc", "electric")
GIVEN_KEYS = ("type", *JOINT_KEYS, *SLIDING.values())
OPTIONAL: Entry = {
    "stiffness_nm_rad": "unmeasured",
    "setpoint_speed_rad_s": None,
    "grip": None,
    "feedback_adc": None,
    "electric": None,
    "load_friction": 0.0,
    "coulomb_nm": 0.0,
    "play_deg": 0.0,
    "pinion_mm": None,
}


def read_entries(
    path: str | Path, joint_names: tuple[str, ...], overlay: str | Path | None = None
) -> tuple[Entry, dict[str, Entry]]:
    """Return the board's figures, and for each of ``joint_names``, in order, every key of ``JOINT_KEYS``.

    Each joint's entry has ``unmeasured`` besides: the keys marked so, and ``stiffness_sd``.  An unmeasured stiffness is None, and
    so are a supply and a feedback that are not measured, and an uncertainty that nobody states.

    Raises:
        ConfigurationError: unreadable file, unknown or missing joint or key, value out of range, channel or
            analogue input used twice.
    """
    layers = [_read_layer(source, joint_names) for source in (path, overlay) if source is not None]
    board = dict(BOARD_OPTIONAL)
    for layer in layers:
        board.update(layer.get("board", {}))
    figures: Entry = {key: _number(key, _present(board, key, f"{path}: board"), BOARD[key], "board") for key in BOARD}
    supply, supply_a = board["supply"], board["supply_a"]
    figures["supply"] = None if supply is None else _supply(supply)
    figures["supply_a"] = None if supply_a is None else _perhaps_assumed("supply_a", supply_a, SUPPLY_A, "board")
    figures["supply_v"] = None if board["supply_v"] is None else _number("supply_v", board["supply_v"], SUPPLY_V, "board")
    figures["supply_ohm"] = _perhaps_assumed("supply_ohm", board["supply_ohm"], SUPPLY_OHM, "board")[0]
    if figures["supply_ohm"] and figures["supply_v"] is None:
        raise ConfigurationError(
            f"{path}: board: supply_ohm needs supply_v: the voltage at which the servos' figures hold", "supply_v"
        )
    entries = {}
    for joint in joint_names:
        if not any(joint in layer.get("joints", {}) for layer in layers):
            raise ConfigurationError(
                f"{path}: joint {joint} is missing; it has {', '.join(layers[0].get('joints', {})) or 'none'}", joint
            )
        merged = dict(OPTIONAL)
        for layer in layers:
            for given in (layer.get("defaults", {}), layer.get("joints", {}).get(joint, {})):
                merged.update(with_type(given, figures["supply_v"], joint))
        entries[joint] = _checked(joint, merged, path)
    _require_distinct(entries, "channel", "drives", {})
    _require_distinct(entries, "feedback_adc", "measures", {figures["supply"]["adc"]: "the supply"} if supply else {})
    return figures, entries


def with_type(given: Entry, supply_v: float | None, joint: str) -> Entry:
    """``given`` with the figures of its type, at ``supply_v`` [V], beneath it.

    Raises:
        ConfigurationError: no such type, or one that does not take that voltage.
    """
    if "type" not in given:
        return given
    try:
        figures = servo_type(given["type"]).figures_at(supply_v)
    except ConfigurationError as error:
        raise ConfigurationError(f"{joint}: {error}", joint, error.value, error.limit) from error
    return figures | {key: value for key, value in given.items() if key != "type"}


def _read_layer(path: str | Path, joint_names: tuple[str, ...]) -> Entry:
    layer = mapping(read_yaml(path, "servo map", ConfigurationError), str(path), ("board", "defaults", "joints"))
    for part, allowed in (("board", (*BOARD, *BOARD_OPTIONAL)), ("defaults", GIVEN_KEYS), ("joints", joint_names)):
        mapping(layer.get(part, {}), f"{path}: {part}", allowed)
    for joint, entry in layer.get("joints", {}).items():
        mapping(entry, f"{path}: {joint}", GIVEN_KEYS, joint)
    return layer


def _present(mapping: Entry, key: str, where: str, joint: str | None = None) -> Any:
    if key not in mapping:
        raise ConfigurationError(f"{where}: {key} is missing", joint, key)
    return mapping[key]


def _checked(joint: str, merged: Entry, path: str | Path) -> Entry:
    entry: Entry = {"unmeasured": (), "stiffness_sd": _stated_sd(joint, merged["stiffness_nm_rad"])}
    for key in JOINT_KEYS:
        called = SLIDING.get(key, key) if merged["pinion_mm"] is not None else key
        value = _present(merged, called, f"{path}: {joint}", joint)
        if key == "stiffness_nm_rad" and value == "unmeasured":
            entry[key], entry["unmeasured"] = None, (*entry["unmeasured"], key)
        elif value is None and OPTIONAL.get(key, 0) is None:
            entry[key] = None
        elif key in NUMBERS:
            entry[key], measured = _perhaps_assumed(key, value, NUMBERS[key], joint)
            entry["unmeasured"] += () if measured else (key,)
        else:
            entry[key] = READERS[key](joint, value)
    return entry


def _perhaps_assumed(key: str, value: Any, bounds: Bounds, joint: str) -> tuple[float, bool]:
    """A plain number, or {value, measured}; the number, and whether it is known."""
    measured: Any = True
    if isinstance(value, dict):
        mapping(value, f"{joint}: {key}", ("value", "measured", *(("sd",) if key == "stiffness_nm_rad" else ())), joint)
        measured = value.get("measured")
        if not isinstance(measured, bool):
            raise ConfigurationError(f"{joint}: {key}: measured is {measured!r}, must be true or false", joint)
        value = _present(value, "value", f"{joint}: {key}", joint)
    return _number(key, value, bounds, joint), measured


def _stated_sd(joint: str, stiffness: Any) -> float | None:
    """One standard deviation of a stiffness that says how well it is known: ``{value: 23.1, measured: true, sd: 2.4}``."""
    if not isinstance(stiffness, dict) or "sd" not in stiffness:
        return None
    key, value = "stiffness_nm_rad", stiffness.get("value")
    sd = _number(f"{key}: sd", stiffness["sd"], NUMBERS[key], joint)
    if isinstance(value, (int, float)) and sd >= value > 0.0:
        raise ConfigurationError(
            f"{joint}: {key}: sd is {sd:g}, must be below the value, {value:g}: of what nobody knows leave it away",
            joint,
            sd,
            float(value),
        )
    return sd


def _number(key: str, value: Any, bounds: Bounds, joint: str) -> float:
    return number(value, f"{joint}: {key}", bounds, joint)


def _one_of(joint: str, key: str, value: Any, allowed: tuple[int, ...], said: str = "", floats: bool = False) -> int:
    if isinstance(value, bool if floats else (bool, float)) or value not in allowed:
        said = said or f"one of {', '.join(map(str, allowed))}"
        raise ConfigurationError(f"{joint}: {key} is {value!r}, must be {said}", joint, value, allowed[-1])
    return int(value)


def _group(
    joint: str, name: str, value: Any, table: Mapping[str, Bounds], *more: str, read: Callable[[str, Any, Bounds, str], Any]
) -> Entry:
    """The mapping ``name``, which has every key of ``table``, as ``read`` takes it; ``more`` keys it may have."""
    where = f"{joint}: {name}"
    mapping(value, where, (*more, *table), joint)
    return {key: read(f"{name}.{key}", _present(value, key, where, joint), bounds, joint) for key, bounds in table.items()}


def _electric(joint: str, value: Any) -> Entry:
    """Figures of the motor, and which of them are assumed."""
    read = _group(joint, "electric", value, ELECTRIC, read=_perhaps_assumed)
    figures = {key: number for key, (number, _) in read.items()}
    if figures["idle_a"] >= figures["stall_a"]:
        raise ConfigurationError(
            f"{joint}: electric.idle_a is {figures['idle_a']:g} A, must be below stall_a, {figures['stall_a']:g} A",
            joint,
            figures["idle_a"],
            figures["stall_a"],
        )
    return figures | {"assumed": tuple(key for key, (_, measured) in read.items() if not measured)}


def _supply(value: Any) -> Entry:
    figures = _group("board", "supply", value, SUPPLY, "adc", read=_number)
    return figures | {"adc": _one_of("board", "supply.adc", value.get("adc"), SUPPLY_ADCS)}


def _pulse_map(joint: str, value: Any) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, list) or len(value) < 2 or any(not isinstance(p, list) or len(p) != 2 for p in value):
        raise ConfigurationError(f"{joint}: pulse_map is {value!r}, must be two or more [horn_deg, pulse_us]", joint, value)
    low, high = PULSE_RANGE_US
    points = tuple(
        (
            _number("pulse_map horn_deg", angle, (HORN_RANGE_DEG[0], True, HORN_RANGE_DEG[1]), joint),
            _number("pulse_map pulse_us", pulse, (low, True, high), joint),
        )
        for angle, pulse in value
    )
    for before, after in zip(points, points[1:]):
        for column, unit in ((0, "deg"), (1, "us")):
            if after[column] <= before[column]:
                raise ConfigurationError(
                    f"{joint}: pulse_map must increase, but {after[column]:g} {unit} follows {before[column]:g} {unit}",
                    joint,
                    after[column],
                    before[column],
                )
    return points


READERS: dict[str, Callable[[str, Any], Any]] = {
    "channel": lambda joint, value: _one_of(joint, "channel", value, tuple(range(CHANNELS)), f"0 ... {CHANNELS - 1}"),
    "direction": lambda joint, value: _one_of(joint, "direction", value, (-1, 1), "1 or -1", floats=True),
    "pulse_map": _pulse_map,
    "grip": lambda joint, value: _group(joint, "grip", value, GRIP, read=_number),
    "feedback_adc": lambda joint, value: _one_of(joint, "feedback_adc", value, FEEDBACK_ADCS),
    "electric": _electric,
}
"""How the keys that are no plain numbers are read; the optional ones may be None."""


def _require_distinct(entries: dict[str, Entry], key: str, does: str, used: dict[int, str]) -> None:
    for joint, entry in entries.items():
        number = entry[key]
        if number in used:
            raise ConfigurationError(f"{joint}: {key} {number} already {does} {used[number]}", joint, number)
        if number is not None:
            used[number] = joint
