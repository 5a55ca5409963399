"""The arm of a session, as the session tells it: which it is, and what its motions are kept clear of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot import servo_arm, servo_map
from picker_dynamics.robot.scene import scene_shape
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.session.session import Session

from .equipment import Equipment


def arm_that_runs(client: Session, arm: str = "", urdf: str | Path = "", servos: str | Path = "") -> Equipment:
    """The arm of the running graph, as the graph tells it; what is named besides has to be that one.

    Args:
        client: of the running arm.
        arm: name of the arm.
        urdf, servos: files that describe it.

    Raises:
        LinkError: nobody answers.
        ConfigurationError: another arm is named than the one that runs; nothing was done.
        DescriptionError, ConfigurationError: a file that cannot be used.
    """
    runs = Equipment(*client.running_arm())
    there, other = runs.description, ""
    if arm and arm != there.name:
        other = arm
    elif urdf and servo_arm.read_arm(urdf).urdf != there.urdf:
        other = str(urdf)
    elif servos and _poses(servo_map.load(servos, there.joint_names)) != _poses(runs.servos):
        other = str(servos)
    if other:
        raise ConfigurationError(f"the running graph has the arm {there.name}, not {other}: nothing was done", "arm", other)
    return runs


def _poses(servos: ServoMap | None) -> list[Any]:
    return [(one.home, one.rest, one.channel) for one in (servos.servos if servos else ())]


def surroundings(known: Equipment, told: Mapping[str, Any]) -> Equipment:
    """The arm ``known`` with what the running arm's motions are kept clear of, as its session says."""
    held = {"floor_z": told["floor_z"], "margin_m": told["margin_m"], "scene": None}
    if told["scene"] is not None:
        held["scene"] = {
            one["name"]: scene_shape(one["name"], one["kind"], one["size"], one["at"], np.array(one["rotation"]), "scene")
            for one in told["scene"]
        }
        held["droops"] = told["droops"]
    return replace(known, **held)
