"""Servo map's YAML: its keys as tables, one reader and one writer.

Layers, the later wins:  defaults and joints of the map, then defaults and joints of the overlay.  A ``type`` in any of them
stands for the figures of its data sheet, beneath what is given beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.fields import Bounds, mapping, number
from picker_dynamics.files.formats import read_yaml

from .servo_types import servo_type

PULSE_RANGE_US = (400.0, True, 2600.0)
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

STIFFNESS_UPPER_BOUND = 25.0
"""K [N·m/rad] of an unmeasured servo: too low a K over-compensates and does harm, so this errs high."""

Entry = dict[str, Any]

NEEDED: Any = object()
"""Instead of a default: the key has to be there."""

TURN = math.pi / 180.0
UNMEASURED = "unmeasured"


class Key(NamedTuple):
    """A number of the file, as it is or as ``{value, measured}``.

    Attributes:
        field: of ``Servo``, or of what it belongs to.
        bounds: of the number as it is written.
        default: as it is written.
        unit: of the number, in SI.
        power: of the pinion's radius r by which a servo's figure becomes that of the rack that it drives: x = r phi, F = tau / r.
    """

    field: str
    bounds: Bounds
    default: Any = NEEDED
    unit: float = 1.0
    power: int = 0


def _above(most: float) -> Bounds:
    return 0.0, False, most


def _from(most: float) -> Bounds:
    return 0.0, True, most


JOINT = {
    "zero_deg": Key("zero", (-360.0, True, 360.0), unit=TURN, power=1),
    "stall_torque_nm": Key("stall_torque", _above(1e4), power=-1),
    "no_load_speed_rad_s": Key("no_load_speed", _above(1e4), power=1),
    "stiffness_nm_rad": Key("stiffness", _above(1e6), UNMEASURED, power=-2),
    "deadband_us": Key("deadband_us", _from(100.0)),
    "armature_kg_m2": Key("armature", _from(1.0), power=-2),
    "load_friction": Key("load_friction", _from(0.9), 0.0),
    "coulomb_nm": Key("coulomb", _from(1e4), 0.0, power=-1),
    "play_deg": Key("play", _from(20.0), 0.0, TURN, 1),
    "peak_share": Key("peak_share", _above(1.0)),
    "hold_share": Key("hold_share", _above(1.0)),
    "rest_rad": Key("rest", (-100.0, True, 100.0)),
    "home_rad": Key("home", (-100.0, True, 100.0)),
    "setpoint_speed_rad_s": Key("fastest_setpoint", _above(1e4), None, power=1),
    "pinion_mm": Key("pinion", _above(1000.0), None, 1e-3),
}
SLIDING = {"rest_rad": "rest_m", "home_rad": "home_m"}
"""What keys are called for a sliding joint, one with a pinion."""

GRIP = {"contact_rad": Key("contact", (-100.0, True, 100.0)), "torque_nm": Key("torque", _above(1e4), power=-1)}
ELECTRIC = {
    "stall_a": Key("stall_a", _above(100.0)),
    "idle_a": Key("idle_a", _from(10.0)),
    "stall_rise_k": Key("stall_rise_k", _above(10_000.0)),
    "thermal_s": Key("thermal_s", _above(100_000.0)),
}
BOARD = {
    "frame_us": Key("frame_s", (1000.0, True, 100000.0), unit=1e-6),
    "quantum_us": Key("quantum_us", _above(100.0)),
    "oscillator_hz": Key("oscillator_hz", (20e6, True, 30e6), OSCILLATOR_HZ),
    "supply_a": Key("supply_a", _above(1000.0), None),
    "supply_v": Key("supply_v", _above(60.0), None),
    "supply_ohm": Key("supply_ohm", _from(10.0), 0.0),
}
SUPPLY = {"divider": Key("divider", (1.0, True, 20.0)), "minimum_v": Key("minimum_v", _above(60.0))}
WHOLE = {"channel": tuple(range(CHANNELS)), "direction": (-1, 1), "feedback_adc": FEEDBACK_ADCS, "adc": SUPPLY_ADCS}
"""Values of the whole numbers."""

GIVEN = ("type", "channel", "direction", "pulse_map", *JOINT, *SLIDING.values(), "grip", "feedback_adc", "electric")


# -- reader ----------------------------------------------------------------------------------------------------------------


def read_entries(
    path: str | Path, joint_names: tuple[str, ...], overlay: str | Path | None = None
) -> tuple[Entry, dict[str, Entry]]:
    """Fields of the board, and those of each servo of ``joint_names``, in order, SI units; groups of figures as mappings.

    Raises:
        ConfigurationError: unreadable file, unknown or missing joint or key, value out of range, channel or
            analogue input used twice.
    """
    layers = [_read_layer(source, joint_names) for source in (path, overlay) if source is not None]
    given: Entry = {}
    for layer in layers:
        given |= layer.get("board", {})
    board, assumed = _numbers("board", f"{path}: board", given, BOARD)
    supply = given.get("supply")
    if supply is not None:
        mapping(supply, "board: supply", ("adc", *SUPPLY), "board")
        supply = _numbers("board", "board: supply", supply, SUPPLY, "supply.")[0] | {
            "adc": _whole("board", "adc", supply.get("adc"), "supply.")
        }
    board |= {"supply": supply, "supply_assumed": "supply_a" in assumed}
    if board["supply_ohm"] and board["supply_v"] is None:
        raise ConfigurationError(
            f"{path}: board: supply_ohm needs supply_v: the voltage at which the servos' figures hold", "supply_v"
        )
    entries = {}
    for joint in joint_names:
        if not any(joint in layer.get("joints", {}) for layer in layers):
            has = ", ".join(layers[0].get("joints", {})) or "none"
            raise ConfigurationError(f"{path}: joint {joint} is missing; it has {has}", joint)
        merged: Entry = {}
        for layer in layers:
            for one in (layer.get("defaults", {}), layer.get("joints", {}).get(joint, {})):
                merged |= with_type(one, board["supply_v"], joint)
        entries[joint] = _servo(joint, merged, f"{path}: {joint}")
    _require_distinct(entries, "channel", "drives", {})
    _require_distinct(entries, "feedback_adc", "measures", {supply["adc"]: "the supply"} if supply else {})
    return board, entries


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
    for part, allowed in (("board", (*BOARD, "supply")), ("defaults", GIVEN), ("joints", joint_names)):
        mapping(layer.get(part, {}), f"{path}: {part}", allowed)
    for joint, entry in layer.get("joints", {}).items():
        mapping(entry, f"{path}: {joint}", GIVEN, joint)
    return layer


def _servo(joint: str, given: dict[str, Any], where: str) -> Entry:
    """Fields of one servo; ``unmeasured`` names figures that are assumed."""
    radius: float | None = None
    if given.get("pinion_mm") is not None:
        radius = _numbers(joint, where, given, {"pinion_mm": JOINT["pinion_mm"]})[0]["pinion"]
        given = given | {key: _present(given, called, where, joint) for key, called in SLIDING.items()}
    optional: Entry = dict.fromkeys(("feedback_adc", "grip", "electric"))
    given = optional | given
    stiffness: Any = given.get("stiffness_nm_rad")
    sd: float | None = None
    if isinstance(stiffness, dict) and "sd" in stiffness:
        key = "stiffness_nm_rad"
        sd = number(stiffness["sd"], f"{joint}: {key}: sd", JOINT[key].bounds, joint)
        given[key] = {name: one for name, one in stiffness.items() if name != "sd"}
    fields, unmeasured = _numbers(joint, where, given, JOINT)
    if sd is not None and sd >= fields["stiffness"]:
        said = f"sd is {sd:g}, must be below the value, {fields['stiffness']:g}: of what nobody knows leave it away"
        raise ConfigurationError(f"{joint}: stiffness_nm_rad: {said}", joint, sd, fields["stiffness"])
    horns, pulses = _pulse_map(joint, _present(given, "pulse_map", where, joint))
    fields |= {key: _whole(joint, key, _present(given, key, where, joint)) for key in ("channel", "direction", "feedback_adc")}
    fields |= {"joint": joint, "unmeasured": unmeasured, "stiffness_sd": sd, "pulses_us": pulses}
    fields["horn_angles"] = tuple(horn * TURN for horn in horns)
    if fields["fastest_setpoint"] is None:
        fields["fastest_setpoint"] = math.inf
    for name, table in (("grip", GRIP), ("electric", ELECTRIC)):
        fields[name] = given[name]
        if given[name] is not None:
            mapping(given[name], f"{joint}: {name}", table, joint)
            fields[name], assumed = _numbers(joint, f"{joint}: {name}", given[name], table, f"{name}.")
            fields[name] |= {"assumed": assumed} if name == "electric" else {}
    electric = fields["electric"]
    if electric and electric["idle_a"] >= electric["stall_a"]:
        idle, stall = electric["idle_a"], electric["stall_a"]
        said = f"{joint}: electric.idle_a is {idle:g} A, must be below stall_a, {stall:g} A"
        raise ConfigurationError(said, joint, idle, stall)
    return fields if radius is None else _at_rack(fields, radius)


def _at_rack(fields: Entry, r: float) -> Entry:
    """A servo's figures at the rack that its pinion of radius ``r`` [m] drives."""
    for key in JOINT.values():
        fields[key.field] *= r**key.power
    fields["horn_angles"] = tuple(horn * r for horn in fields["horn_angles"])
    fields["stiffness_sd"] = fields["stiffness_sd"] and fields["stiffness_sd"] / r**2
    if fields["grip"]:
        fields["grip"]["torque"] /= r
    return fields


def _present(given: Entry, key: str, where: str, joint: str | None) -> Any:
    if key not in given:
        raise ConfigurationError(f"{where}: {key} is missing", joint, key)
    return given[key]


def _numbers(joint: str, where: str, given: Any, table: Mapping[str, Key], prefix: str = "") -> tuple[Entry, tuple[str, ...]]:
    """Fields of the numbers of ``table``, and the keys of those that are not known."""
    fields, assumed = {}, []
    for name, key in table.items():
        value = given.get(name, key.default)
        if value is NEEDED:
            raise ConfigurationError(f"{where}: {name} is missing", None if where.endswith(": board") else joint, name)
        said, known = f"{joint}: {prefix}{name}", cast(Any, True)
        if isinstance(value, dict):
            mapping(value, said, ("value", "measured"), joint)
            known = value.get("measured")
            if not isinstance(known, bool):
                raise ConfigurationError(f"{said}: measured is {known!r}, must be true or false", joint)
            value = _present(value, "value", said, joint)
        if value == UNMEASURED and key.default == UNMEASURED:
            value, known = STIFFNESS_UPPER_BOUND, False
        fields[key.field] = None if value is None and key.default is None else number(value, said, key.bounds, joint) * key.unit
        assumed += [] if known else [name]
    return fields, tuple(assumed)


def _whole(joint: str, key: str, value: Any, prefix: str = "") -> int | None:
    allowed = WHOLE[key]
    if value is None and key == "feedback_adc":
        return None
    if isinstance(value, bool) or (isinstance(value, float) and key != "direction") or value not in allowed:
        raise ConfigurationError(
            f"{joint}: {prefix}{key} is {value!r}, must be one of {', '.join(map(str, allowed))}", joint, value
        )
    return int(value)


def _pulse_map(joint: str, value: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Horn angles [deg] and pulses [us], both rising."""
    if not isinstance(value, list) or len(value) < 2 or any(not isinstance(p, list) or len(p) != 2 for p in value):
        raise ConfigurationError(f"{joint}: pulse_map is {value!r}, must be two or more [horn_deg, pulse_us]", joint, value)
    low, high = HORN_RANGE_DEG
    horns = tuple(number(angle, f"{joint}: pulse_map horn_deg", (low, True, high), joint) for angle, _ in value)
    pulses = tuple(number(pulse, f"{joint}: pulse_map pulse_us", PULSE_RANGE_US, joint) for _, pulse in value)
    for column, unit in ((horns, "deg"), (pulses, "us")):
        for before, after in zip(column, column[1:]):
            if after <= before:
                said = f"{joint}: pulse_map must increase, but {after:g} {unit} follows {before:g} {unit}"
                raise ConfigurationError(said, joint, after, before)
    return horns, pulses


def _require_distinct(entries: dict[str, Entry], key: str, does: str, used: dict[int, str]) -> None:
    for joint, entry in entries.items():
        taken = entry[key]
        if taken in used:
            raise ConfigurationError(f"{joint}: {key} {taken} already {does} {used[taken]}", joint, taken)
        if taken is not None:
            used[taken] = joint


# -- writer ----------------------------------------------------------------------------------------------------------------


def map_text(servos: Any) -> str:
    """Assumed servos, a ``ServoMap``, as a servo map's text (YAML); friction and play, which are the simulation's own, are not in
    it.
    """
    joints = {}
    for one in servos.servos:
        r, called = one.per_turn, {} if one.pinion is None else SLIDING
        figures: Entry = {"channel": one.channel, "direction": one.direction}
        for name, key in JOINT.items():
            value = getattr(one, key.field)
            if value is not None and not (key.default == 0.0 or math.isinf(value)):
                written = value / r**key.power / key.unit
                figures[called.get(name, name)] = {"value": written, "measured": False} if key.default == UNMEASURED else written
        figures["pulse_map"] = [[horn / r / TURN, pulse] for horn, pulse in zip(one.horn_angles, one.pulses_us)]
        joints[one.joint] = figures
    board = {"frame_us": round(1e6 * servos.frame_s), "quantum_us": servos.quantum_us}
    said = "# Assumed servos, for a simulation only: nothing of them is measured.\n"
    return said + yaml.safe_dump({"board": board, "joints": joints}, default_flow_style=None, sort_keys=False, width=130)
