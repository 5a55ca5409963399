"""Estimates: the arm as the demo's controller believes it, and as the simulation has it.

configured    urdf/picker.urdf with config/servos.sim.yaml (servos.ideal.yaml): what the simulation is built around
shipped       the same URDF with config/servos.yaml alone: what a calibration begins with, its stiffness a guess
calibrated    a folder of ``picker calibrate --simulated``, whose arm had the same hidden errors
true          configured, with horns askew as in the rehearsal (horn error), and the plant's errors on top
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from picker_dynamics.bringup.options import Options
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.estimation.calibration.compare import load
from picker_dynamics.estimation.calibration.simulated import hidden_servos
from picker_dynamics.estimation.calibration.write_back import OVERLAY_NAME, URDF_NAME
from picker_dynamics.files.formats import read_json, read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap

HIDDEN_NAME = "servos.hidden.yaml"
SETTINGS = ("plant_error", "seed", "horn_error")


@dataclass(frozen=True)
class Sides:
    """An arm and its servos as the controller believes them, as the demo configures them, as they are shipped, and as they are.

    ``folder``: of the calibration that is believed, "" where the configured numbers are.  ``graph``: what the graph of nodes
    has to know.
    """

    believed: tuple[ArmDescription, ServoMap]
    configured: tuple[ArmDescription, ServoMap]
    shipped: tuple[ArmDescription, ServoMap]
    true: tuple[ArmDescription, ServoMap]
    plant_error: float
    seed: int
    folder: str
    graph: Options


def sides(options, out: Path) -> Sides:
    """Sides as the command's options have them; a hidden servo map goes into ``out``, where the simulated board reads it.

    Raises:
        ConfigurationError: files that are missing, or a calibration of another simulated arm.
    """
    folder = getattr(options, "calibrated", "")
    servo = getattr(options, "servo", "") or "typical"
    files = getattr(options, "urdf", ""), getattr(options, "servos", "")
    if any(files) and (folder or getattr(options, "horn_error", None)):
        raise ConfigurationError("--calibrated and --horn-error are for the picker: leave --urdf and --servos out", "urdf")
    simulated = servo_arm.overlay_of(servo_arm.read_arm(files[0]), files[1], servo)
    shipped, (arm, configured) = servo_arm.load(*files), servo_arm.load(*files, simulated)
    horn_error = getattr(options, "horn_error", None)
    if folder:
        rehearsed = _rehearsed(folder)
        horn_error = rehearsed.get("horn_error", 0.0) if horn_error is None else horn_error
        _require_same_arm(folder, rehearsed, (options.plant_error, options.seed, horn_error))
    horn_error = horn_error or 0.0
    if not 0.0 <= horn_error <= 2.0:
        raise ConfigurationError(f"--horn-error is {horn_error}, must be 0 to 2", None, horn_error, 2.0)
    graph = Options(
        board=options.board,
        plant_error=options.plant_error,
        seed=options.seed,
        servo=servo,
        urdf=files[0],
        servos=files[1],
        view=getattr(options, "view", False),
    )
    true, believed = configured, (arm, configured)
    if horn_error:
        true = hidden_servos(configured, np.random.default_rng(options.seed), horn_error)
        (out / HIDDEN_NAME).write_text(hidden_overlay(true, simulated), encoding="utf-8")
        graph = replace(graph, servo="typical", servo_overlay=simulated, plant_overlay=str(out / HIDDEN_NAME))
    if folder:
        numbers = load(folder)
        believed = numbers.description, numbers.servos
        graph = replace(
            graph,
            servo="typical",
            urdf=str(Path(folder) / URDF_NAME),
            servo_overlay=str(Path(folder) / OVERLAY_NAME),
            plant_urdf=str(resource("urdf/picker.urdf")),
            plant_overlay=graph.plant_overlay or simulated,
        )
    return Sides(believed, (arm, configured), shipped, (arm, true), options.plant_error, options.seed, folder, graph)


def hidden_overlay(true: ServoMap, overlay: str | Path) -> str:
    """The text of a servo-map overlay with each horn as it truly is, and all that ``overlay`` has."""
    layer = read_yaml(overlay, "servo map", ConfigurationError)
    for servo in true.servos:
        points = [[float(angle), float(pulse)] for angle, pulse in zip(np.degrees(servo.horn_angles), servo.pulses_us)]
        entry = layer.setdefault("joints", {}).setdefault(servo.joint, {})
        entry.update(pulse_map=points, zero_deg=float(np.degrees(servo.zero)))
    return yaml.safe_dump(layer, sort_keys=False)


def _rehearsed(folder: str) -> dict:
    """Which simulated arm a calibration was of, by its report.

    Raises:
        ConfigurationError: no report, or one of a real arm.
    """
    path, needs = Path(folder) / "report.json", "the demo needs a folder of picker calibrate --simulated"
    try:
        simulated = read_json(path, "report", ConfigurationError).get("simulated")
    except (ConfigurationError, AttributeError) as error:
        raise ConfigurationError(f"cannot read {path}: {' '.join(str(error).split())}; {needs}", None, str(path)) from error
    if not isinstance(simulated, dict):
        raise ConfigurationError(f"{path} says nothing of a simulated arm: {needs}", None, str(path))
    return simulated


def _require_same_arm(folder: str, rehearsed: dict, asked: tuple[float, int, float]) -> None:
    known = tuple(rehearsed.get(key, 0.0) for key in SETTINGS)
    if known != asked:
        words = " ".join(f"--{key.replace('_', '-')} {value:g}" for key, value in zip(SETTINGS, known))
        raise ConfigurationError(f"{folder} is the calibration of another simulated arm: give {words}", None, folder)
