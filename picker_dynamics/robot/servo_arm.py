"""A servo arm as its files have it, description and servo map: the picker's by default, servos assumed for arms without a map."""

from __future__ import annotations

from pathlib import Path

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource, share_directory

from . import description, servo_map
from .assumed_servos import SIMULATED_SERVOS, assumed_servos, simulated
from .description import ArmDescription
from .serial_arm import serial_arm
from .servo_map import ServoMap

SHIPPED = "config/servos.yaml"


def load(urdf: str | Path = "", servos: str | Path = "", overlay: str | Path = "") -> tuple[ArmDescription, ServoMap]:
    """Load an arm's description and servo map.

    Args:
        urdf: file; empty: urdf/picker.urdf.
        servos: file; empty: config/NAME.servos.yaml of urdf/NAME.urdf, config/servos.yaml where that has the arm's joints; for
            other arms servos that fit are assumed, which only a simulation has.
        overlay: file with differences from the servo map; or one of ``SIMULATED_SERVOS``: what the map leaves open is as in
            simulated servos of that kind.

    Raises:
        DescriptionError, ConfigurationError: a file that cannot be used.
    """
    arm = read_arm(urdf)
    if assumes(arm, servos):
        if overlay and overlay not in SIMULATED_SERVOS:
            raise ConfigurationError(
                f"servo_overlay {overlay} is given, but no servo map of {arm.name}: what it changes is not known",
                "servo_overlay",
                str(overlay),
            )
        return arm, assumed_servos(arm, str(overlay or "typical"))
    if overlay in SIMULATED_SERVOS:
        overlay = overlay_of(arm, servos, str(overlay))
    kind = str(overlay) if overlay in SIMULATED_SERVOS else ""
    loaded = servo_map.load(servos or shipped_map(arm) or "", arm.joint_names, None if kind else overlay or None)
    _require_pinions(arm, loaded)
    return arm, simulated(loaded, kind, arm) if kind else loaded


def read_arm(urdf: str | Path = "") -> ArmDescription:
    """The description alone, of one chain of joints; errors as :func:`load`."""
    return serial_arm(description.load(urdf or resource("urdf/picker.urdf")))


def assumes(arm: ArmDescription, servos: str | Path = "") -> bool:
    """Whether servos have to be assumed: no servo map is given, and the shipped ones are of other arms."""
    return not servos and shipped_map(arm) is None


def gripper_of(arm: ArmDescription, servos: ServoMap | None) -> int | None:
    """Index of the joint that grips, and opens upwards: the servo map names it, or it does not move the tool; None: none."""
    gripping = [] if servos is None else [j for j, servo in enumerate(servos.servos) if servo.grip is not None]
    moves_tool = {joint.name for joint in arm.path_to(arm.tool)}
    return next(iter([*gripping, *(j for j, name in enumerate(arm.joint_names) if name not in moves_tool)]), None)


def overlay_of(arm: ArmDescription, servos: str | Path, kind: str) -> str:
    """Overlay that :func:`load` takes for simulated servos of that kind: the shipped file for the picker's servo map."""
    return kind if servos or shipped_map(arm) != resource(SHIPPED) else str(resource(SIMULATED_SERVOS[kind]))


def shipped_map(arm: ArmDescription) -> Path | None:
    """File of the servo map that is shipped with this URDF; with another, the picker's where it has the joints' names."""
    urdf, share = Path(arm.source).resolve(), share_directory()
    own = share / "config" / f"{urdf.stem}.servos.yaml"
    if urdf.parent == share / "urdf" and own.is_file():
        return own
    joints = read_yaml(resource(SHIPPED), "servo map", ConfigurationError)["joints"]
    return resource(SHIPPED) if set(arm.joint_names) == set(joints) else None


def _require_pinions(arm: ArmDescription, servos: ServoMap) -> None:
    for servo, slides in zip(servos.servos, arm.slides):
        if servo.slides != slides:
            what = "slides: its servo needs pinion_mm" if slides else "turns: pinion_mm is for sliding joints"
            text = f"{servo.joint}: the joint {what}, the radius at which it drives a rack"
            raise ConfigurationError(text, servo.joint, "pinion_mm")
