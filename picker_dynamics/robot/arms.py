"""Registry of the named arms: config/arms.yaml, or a file of one's own, says how each is controlled, its URDF everything else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.fields import mapping, number
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource

from . import description
from .description import ArmDescription
from .model import Array, read_only
from .serial_arm import serial_arm

DEFAULT = "picker"
CONTROLS = ("servo", "torque")

_NUMBERS = {
    "bandwidth_rad_s": 500.0,
    "peak_share": 1.0,
    "hold_share": 1.0,
    "tip_speed_m_s": 2.0,
    "goal_tolerance": 1.0,
    "path_tolerance": 1.0,
}
"""Numbers of a torque-controlled arm -> largest value; all are above 0."""

_TOLERANCES = {"goal_tolerance": 0.02, "path_tolerance": 0.1}
"""Where the file names none."""


@dataclass(frozen=True, eq=False)
class Arm:
    """A named arm, how it is controlled and what a motion may ask of it: one entry of the file.

    Attributes:
        name: its key, the name of its URDF and of the robot in there.
        description: what the URDF says.
        control: ``servo`` (config/servos.yaml has the rest; what follows is None) or ``torque``.
        home: (n,) where work starts [rad or m].
        bandwidth: w of the closed loop [rad/s].
        peak_share, hold_share: of the effort limits, along a motion and where it ends.
        tip_speed: largest speed of the tool [m/s].
        goal_tolerance, path_tolerance: of each joint, where it has arrived and on its way [rad or m].
    """

    name: str
    description: ArmDescription
    control: str
    home: Array | None = None
    bandwidth: float | None = None
    peak_share: float | None = None
    hold_share: float | None = None
    tip_speed: float | None = None
    goal_tolerance: float | None = None
    path_tolerance: float | None = None

    @property
    def hold_limit(self) -> Array:
        """Effort allowed where a motion ends, (n,) [N·m or N]."""
        if self.hold_share is None:
            raise ConfigurationError(f"arm {self.name} has servos, not efforts: config/servos.yaml says what they may give")
        return self.hold_share * self.description.effort


def names(path: str | Path | None = None) -> tuple[str, ...]:
    """Names of all arms of the file, sorted."""
    return tuple(sorted(_read(path)["arms"]))


def load(name: str = "", path: str | Path | None = None, urdf: str | Path = "") -> Arm:
    """The arm of that name.

    Args:
        name: its key; empty: the name of the robot in ``urdf``.
        path: of the file; default config/arms.yaml.
        urdf: its URDF; default NAME.urdf, beside a file of one's own, or in urdf/.

    Raises:
        ConfigurationError: no such arm (with the list), or an entry that is incomplete or wrong.
        DescriptionError: its URDF is wrong.
    """
    file, arm = _read(path), None
    if urdf:
        arm = serial_arm(description.load(urdf))
        name = name or arm.name
    if name not in file["arms"]:
        raise ConfigurationError(f"no arm {name!r}; there are {', '.join(sorted(file['arms']))}", name, name)
    where = f"arm {name}"
    entry = _entry(file["arms"][name], where)
    control = entry.pop("control", None)
    if control not in CONTROLS:
        raise ConfigurationError(f"{where}: control is {control!r}, must be one of {', '.join(CONTROLS)}", "control", control)
    if arm is None:
        arm = serial_arm(description.load(urdf_of(name, path)))
    if control == "servo":
        if entry:
            raise ConfigurationError(
                f"{where}: {next(iter(entry))} is for torque-controlled arms; servos have config/servos.yaml", next(iter(entry))
            )
        return Arm(name, arm, control)
    return of_entry(name, arm, _entry(file.get("defaults"), f"{where}: defaults") | entry)


def urdf_of(name: str, path: str | Path | None = "") -> Path:
    """The URDF of a named arm: beside a file of one's own, or in urdf/."""
    beside = Path(path).parent / f"{name}.urdf" if path else None
    return beside if beside is not None and os.path.isfile(beside) else resource(f"urdf/{name}.urdf")  # false for too long a name


def of_entry(name: str, arm: ArmDescription, entry: Any) -> Arm:
    """A torque-controlled arm of its URDF and its entry without ``control``, defaults included; errors as ``load``."""
    where = f"arm {name}"
    entry = _entry(entry, where)
    home = _home(entry.pop("home", None), arm, where)
    return Arm(name, arm, "torque", home, *_numbers(_TOLERANCES | entry, where).values())


def entry_of(arm: Arm) -> dict[str, Any]:
    """Entry of which ``of_entry`` makes this torque-controlled arm."""
    assert arm.home is not None
    home = dict(zip(arm.description.joint_names, arm.home.tolist()))
    figures = (arm.bandwidth, arm.peak_share, arm.hold_share, arm.tip_speed, arm.goal_tolerance, arm.path_tolerance)
    return {"home": home, **dict(zip(_NUMBERS, figures))}


def _read(path: str | Path | None) -> dict[str, Any]:
    path = path or resource("config/arms.yaml")
    file = mapping(read_yaml(path, "arms", ConfigurationError), str(path))
    return file | {"arms": mapping(file.get("arms"), f"{path}: arms", subject="arms")}


def _entry(values: Any, where: str) -> dict[str, Any]:
    """A mapping of its own; nothing counts as an empty one."""
    return mapping({} if values is None else values, where)


def _home(values: Any, arm: ArmDescription, where: str) -> Array:
    values = _entry(values, f"{where}: home")
    if set(values) != set(arm.joint_names):
        odd = sorted(set(values) ^ set(arm.joint_names))
        raise ConfigurationError(
            f"{where}: home must name the joints {', '.join(arm.joint_names)}; it differs in {', '.join(odd)}", odd[0]
        )
    at = {one.name: (f"{where}: home of {one.name}", (one.lower, True, one.upper), one.name) for one in arm.movable}
    return read_only([number(values[name], *at[name]) for name in arm.joint_names])


def _numbers(values: dict[str, Any], where: str) -> dict[str, float]:
    """The entries of ``_NUMBERS``, in that order, checked."""
    mapping(values, where, _NUMBERS)
    found = {key: number(values.get(key), f"{where}: {key}", (0.0, False, most), key) for key, most in _NUMBERS.items()}
    if values["peak_share"] < values["hold_share"]:
        raise ConfigurationError(
            f"{where}: peak_share is {values['peak_share']}, less than hold_share {values['hold_share']}",
            "peak_share",
            values["peak_share"],
            values["hold_share"],
        )
    return found
