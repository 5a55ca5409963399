"""Servo map's YAML: what a map and its overlay say of the board and of each joint's servo, put together.

Layers, the later wins:  defaults and joints of the map, then defaults and joints of the overlay.  A ``type`` in any of them
stands for the figures of its data sheet, beneath what is given beside it.  An overlay in JSON is LeRobot's calibration.

LeRobot's zero is the middle of the range through which a person turned the joint; a gripper is counted from its closed end:

    tick(q) = (range_min + range_max) / 2 + direction q / TICK        of a gripper: closed end + direction (q - q_contact) / TICK

LeRobot itself counts degrees upwards whatever drive_mode says, and writes 0 there; here 1 turns the joint's direction round.

Data sheets of servos by name, config/servo_types.yaml: what ``type: MG996R`` in a servo map stands for.

A servo's motor makes torque and speed in proportion to its voltage, so figures of another voltage are scaled; they count as
assumptions then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.fields import mapping, number
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource

from .file_fields import TICK, TICKS, TURN

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


# -- LeRobot's calibration -------------------------------------------------------------------------------------------------

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


# -- data sheets -----------------------------------------------------------------------------------------------------------

FILE = "config/servo_types.yaml"

PER_GAIN = "stiffness_per_p_nm_rad"
"""Figure of bus servos: K for each unit of their P gain."""

WITH_VOLTAGE = ("stall_torque_nm", "no_load_speed_rad_s", PER_GAIN)
"""Figures in proportion to the voltage; the current at stall is, too."""


@dataclass(frozen=True)
class ServoType:
    """Data sheet of one servo type.

    Attributes:
        name: as it is sold.
        source: where the figures are from.
        volts: at which they hold [V].
        takes_v: least and largest voltage that the servo may have [V].
        mass: [kg].
        size: edges of the box around it [m].
        figures: keys of a servo map, with values as YAML has them.
    """

    name: str
    source: str
    volts: float
    takes_v: tuple[float, float]
    mass: float
    size: tuple[float, float, float]
    figures: Mapping[str, Any]

    @property
    def travel_deg(self) -> float:
        """Angle that the horn turns through from the first pulse to the last [deg]."""
        points = self.figures["pulse_map"]
        return float(points[-1][0] - points[0][0])

    def figures_at(self, supply_v: float | None = None) -> dict[str, Any]:
        """The figures at the voltage ``supply_v`` [V]; as printed where that is not known.

        Raises:
            ConfigurationError: a voltage that the servo does not take.
        """
        figures = dict(self.figures)
        if not isinstance(supply_v, (int, float)) or supply_v == self.volts:
            return figures
        least, most = self.takes_v
        if not least <= supply_v <= most:
            raise ConfigurationError(
                f"supply_v is {supply_v:g} V, {self.name} takes {least:g} to {most:g} V",
                "supply_v",
                supply_v,
                most if supply_v > most else least,
            )
        share = supply_v / self.volts
        for key in figures.keys() & set(WITH_VOLTAGE):
            figures[key] = scaled(figures[key], share)
        figures["electric"] = figures["electric"] | {"stall_a": scaled(figures["electric"]["stall_a"], share)}
        return figures


@cache
def servo_types() -> Mapping[str, ServoType]:
    """Data sheets of all servo types, by name."""
    file = read_yaml(resource(FILE), "servo types", ConfigurationError)
    made = {}
    for name, sheet in file["types"].items():
        least, most = sheet["takes_v"]
        x, y, z = (1e-3 * edge for edge in sheet["size_mm"])
        figures = MappingProxyType(file["common"] | sheet["figures"])
        made[name] = ServoType(name, sheet["source"], sheet["volts"], (least, most), sheet["mass_kg"], (x, y, z), figures)
    return MappingProxyType(made)


def servo_type(name: object, what: str = "type") -> ServoType:
    """The data sheet of that name, in capitals or not.

    Raises:
        ConfigurationError: there is none; says which there are.
    """
    found = servo_types().get(name.upper()) if isinstance(name, str) else None
    if found is None:
        raise ConfigurationError(
            f"{what} is {name!r}, must be one of {', '.join(servo_types())}; for another servo give its figures as in {FILE}",
            what,
            str(name),
        )
    return found


def scaled(figure: Any, share: float) -> dict[str, Any]:
    """A figure of a sheet in proportion, as an assumption."""
    given = figure if isinstance(figure, dict) else {"value": figure}
    return {key: round(share * given[key], 4) for key in ("value", "sd") if key in given} | {"measured": False}
