"""Sides of the demo: the arm as its controller believes it, and as the simulation has it.

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
from picker_dynamics.estimation.calibration.evaluate import exact
from picker_dynamics.estimation.calibration.simulated import hidden_servos
from picker_dynamics.estimation.calibration.write_back import OVERLAY_NAME, URDF_NAME
from picker_dynamics.files.formats import read_json, read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.plant import Plant

Numbers = tuple[ArmDescription, ServoMap]


@dataclass(frozen=True)
class Sides:
    """An arm and its servos as the controller believes them, as the demo configures them, as they are shipped, and as they are.

    ``folder``: of the calibration that is believed, "" where the configured numbers are.  ``graph``: what the graph of nodes
    has to know.
    """

    believed: Numbers
    configured: Numbers
    shipped: Numbers
    true: Numbers
    plant_error: float
    seed: int
    folder: str
    graph: Options

    def others(self) -> dict[str, Numbers]:
        """Numbers with which a calibration is compared: ``floor`` are the arm's own, which nobody knows."""
        plant = Plant(*self.true, plant_error=self.plant_error, seed=self.seed)
        return {"shipped": self.shipped, "configured": self.configured, "floor": exact(plant, self.configured[1])}


def sides(options, out: Path) -> Sides:
    """Sides as the command's options have them; a hidden servo map goes into ``out``, where the simulated board reads it.

    Raises:
        ConfigurationError: files that are missing, or a calibration of another simulated arm.
    """
    files, folder = (options.urdf, options.servos), options.calibrated
    if any(files) and (folder or options.horn_error is not None):
        raise ConfigurationError("--calibrated and --horn-error are for the picker: leave --urdf and --servos out", "urdf")
    simulated = servo_arm.overlay_of(servo_arm.read_arm(files[0]), files[1], options.servo)
    shipped, (arm, configured) = servo_arm.load(*files), servo_arm.load(*files, simulated)
    horn_error = (_rehearsed_horn_error(options) if folder else options.horn_error) or 0.0
    graph = Options(
        board=options.board,
        plant_error=options.plant_error,
        seed=options.seed,
        servo=options.servo,
        urdf=files[0],
        servos=files[1],
        view=options.view,
    )
    true, believed, hidden = configured, (arm, configured), ""
    if horn_error:
        true = hidden_servos(configured, np.random.default_rng(options.seed), horn_error)
        hidden = str(out / "servos.hidden.yaml")
        Path(hidden).write_text(hidden_overlay(true, simulated), encoding="utf-8")
        graph = replace(graph, servo="typical", servo_overlay=simulated, plant_overlay=hidden)
    if folder:
        numbers = load(folder)
        believed = numbers.description, numbers.servos
        graph = replace(
            graph,
            servo="typical",
            urdf=str(Path(folder) / URDF_NAME),
            servo_overlay=str(Path(folder) / OVERLAY_NAME),
            plant_urdf=str(resource("urdf/picker.urdf")),
            plant_overlay=hidden or simulated,
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


def _rehearsed_horn_error(options) -> float:
    """Horn error of the simulated arm that a calibration was of, by its report.

    Raises:
        ConfigurationError: no report, or one of a real arm, or of another than the options say.
    """
    path = Path(options.calibrated) / "report.json"
    report = read_json(path, "report", ConfigurationError)
    known = report.get("simulated") if isinstance(report, dict) else None
    if not isinstance(known, dict):
        raise ConfigurationError(f"{path} says nothing of a simulated arm: give a folder of picker calibrate --simulated")
    names = "plant_error", "seed", "horn_error"
    found = tuple(known.get(name, 0.0) for name in names)
    if found != (options.plant_error, options.seed, found[2] if options.horn_error is None else options.horn_error):
        words = " ".join(f"--{name.replace('_', '-')} {value:g}" for name, value in zip(names, found))
        raise ConfigurationError(f"{options.calibrated} is the calibration of another simulated arm: give {words}")
    return found[2]
