"""Surroundings of a running arm, as its graph publishes them, for a client."""

from __future__ import annotations

import os
from typing import Any

from visualization_msgs.msg import Marker, MarkerArray

from picker_dynamics.control.compensation import NONE
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.scene import Scene
from picker_dynamics.robot.srdf import read_srdf

from .client import ArmClient
from .runtime import LATCHED
from .scene_markers import SHOWN_TOPIC, frame_prefix, shapes_after


def scene_shown(client: ArmClient, arm: ArmDescription, markers: list[Marker]) -> Scene:
    """Scene that motions are kept clear of, as a running graph shows it; errors as ``shapes_after``."""
    return shapes_after({}, markers, arm.root, frame_prefix(client.get_namespace()))


def surroundings(client: ArmClient, arm: ArmDescription) -> dict[str, Any]:
    """Surroundings that the motions of a running graph are kept clear of, as fields of a script's equipment.

    Raises:
        LinkError: nobody tells.
    """
    names = ["collision.enabled", "collision.scene", "collision.srdf", "collision.margin", "floor_z"]
    enabled, path, srdf, margin, floor = client.get_parameters("trajectory_controller", names)
    held: dict[str, Any] = {"floor_z": floor.double_value, "margin_m": margin.double_value, "scene": None}
    if enabled.bool_value or path.string_value:
        with client.hearing(MarkerArray, SHOWN_TOPIC, LATCHED) as heard:
            client.wait(lambda: heard, "no collision_scene/shapes come")
        held["scene"] = scene_shown(client, arm, heard[-1].markers)
        modes = client.get_parameters("dynamics", ["compensation"])  # none of a torque-controlled arm
        held["droops"] = bool(modes) and modes[0].string_value == NONE
        if os.path.isfile(srdf.string_value):  # on the graph's machine; elsewhere more pairs are looked at here than there
            held["allowed"] = read_srdf(srdf.string_value, arm)
    return held
