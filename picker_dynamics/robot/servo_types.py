"""Data sheets of servos by name, config/servo_types.yaml: what ``type: MG996R`` in a servo map stands for.

A servo's motor makes torque and speed in proportion to its voltage, so figures of another voltage are scaled; they count as
assumptions then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource

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
            f"{what} is {name!r}, must be one of {', '.join(servo_types())}; of another servo give its figures, as {FILE} does",
            what,
            str(name),
        )
    return found


def scaled(figure: Any, share: float) -> dict[str, Any]:
    """A figure of a sheet in proportion, as an assumption."""
    given = figure if isinstance(figure, dict) else {"value": figure}
    return {key: round(share * given[key], 4) for key in ("value", "sd") if key in given} | {"measured": False}
