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
from .file_fields import above, figure, keys_of, read_fields, written_fields
from .model import Array, read_only
from .serial_arm import serial_arm

DEFAULT = "picker"
CONTROLS = ("servo", "torque")

TOLERANCES = {"goal_tolerance": 0.02, "path_tolerance": 0.1}
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
    bandwidth: float | None = figure("bandwidth_rad_s", above(500.0), None)
    peak_share: float | None = figure("peak_share", above(1.0), None)
    hold_share: float | None = figure("hold_share", above(1.0), None)
    tip_speed: float | None = figure("tip_speed_m_s", above(2.0), None)
    goal_tolerance: float | None = figure("goal_tolerance", above(1.0), None)
    path_tolerance: float | None = figure("path_tolerance", above(1.0), None)


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
    entry = mapping(file["arms"][name] or {}, where)
    control = entry.pop("control", None)
    if control not in CONTROLS:
        raise ConfigurationError(f"{where}: control is {control!r}, must be one of {', '.join(CONTROLS)}", "control", control)
    if arm is None:
        arm = serial_arm(description.load(urdf_of(name, path)))
    if control == "torque":
        return of_entry(name, arm, mapping(file.get("defaults") or {}, f"{where}: defaults") | entry)
    if entry:
        key = next(iter(entry))
        raise ConfigurationError(f"{where}: {key} is for torque-controlled arms; servos have config/servos.yaml", key)
    return Arm(name, arm, control)


def urdf_of(name: str, path: str | Path | None = "") -> Path:
    """The URDF of a named arm: beside a file of one's own, or in urdf/."""
    beside = Path(path).parent / f"{name}.urdf" if path else None
    return beside if beside is not None and os.path.isfile(beside) else resource(f"urdf/{name}.urdf")  # false for too long a name


def of_entry(name: str, arm: ArmDescription, entry: Any) -> Arm:
    """A torque-controlled arm of its URDF and its entry without ``control``, defaults included; errors as ``load``."""
    where, keys = f"arm {name}", keys_of(Arm)
    entry = TOLERANCES | mapping(entry, where, ("home", *(key.name for key in keys.values())))
    values, _ = read_fields(Arm, entry, f"{where}: ", name)
    for field, key in keys.items():
        if values[field] is None:
            raise ConfigurationError(f"{where}: {key.name} is missing", key.name)
    peak, hold = values["peak_share"], values["hold_share"]
    if peak < hold:
        raise ConfigurationError(f"{where}: peak_share is {peak}, less than hold_share {hold}", "peak_share", peak, hold)
    home = mapping(entry.get("home") or {}, f"{where}: home")
    if odd := sorted(set(home) ^ set(arm.joint_names)):
        names = ", ".join(arm.joint_names)
        raise ConfigurationError(f"{where}: home must name the joints {names}; it differs in {', '.join(odd)}", odd[0])
    pose = [number(home[one.name], f"{where}: home of {one.name}", (one.lower, True, one.upper), one.name) for one in arm.movable]
    return Arm(name, arm, "torque", read_only(pose), **values)


def entry_of(arm: Arm) -> dict[str, Any]:
    """Entry of which ``of_entry`` makes this torque-controlled arm."""
    assert arm.home is not None
    return {"home": dict(zip(arm.description.joint_names, arm.home.tolist())), **written_fields(arm)}


def _read(path: str | Path | None) -> dict[str, Any]:
    path = path or resource("config/arms.yaml")
    file = mapping(read_yaml(path, "arms", ConfigurationError), str(path))
    return file | {"arms": mapping(file.get("arms"), f"{path}: arms", subject="arms")}
