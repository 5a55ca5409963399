"""Rehearsal of weighing: a simulated arm with hidden numbers carries a payload, and an inclinometer or a ruler is read off it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.validator import MotionValidator, torque_validator
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.sim.plant import Plant

from ..calibration.simulated import SimulatedBench, hidden_servos, mounted
from .droop import LOAD_FRICTION_SD, USUAL_KG, DroopScale, Measurement, stiffness_sd
from .poses import before

ZERO_SD, SCALE_SD, MASS_SD, GAP_SD, COULOMB_SD = math.radians(0.15), 0.003, 0.01, 0.1, 0.25
"""How well a calibration knows the arm (one standard deviation): zero in rad, the others as shares."""

TRAVEL_S, APPROACH_S, SETTLE_S = 0.6, 2.5, 1.6
"""To the stand-off at least, from there into the pose, and until it is read [s]: an arm that comes fast swings, and friction
holds it anywhere (25 g are then 4 g off)."""


def as_calibrated(plant: Plant, rng: np.random.Generator, com=(0.0, 0.0, 0.0), heaviest_kg: float = USUAL_KG) -> DroopScale:
    """The arm as a calibration finds it: the truth, less what is left open."""
    whole, soft, servos = plant.whole_servo, plant.servo.stiffness, []
    for column, servo in enumerate(plant.servo_map.servos):
        off = rng.normal(size=6) * [ZERO_SD, SCALE_SD, stiffness_sd(servo), LOAD_FRICTION_SD, COULOMB_SD, 2.0 * GAP_SD]
        x, coulomb, play, gap = (float(each[column]) for each in (whole.load_friction, whole.coulomb, whole.play, whole.gap))
        found = {
            "stiffness": float(soft[column]) * math.exp(off[2]),
            "deadband_us": servo.deadband_us * float(plant.error.deadband[column]),
            "load_friction": max(0.0, x + off[3]),
            "coulomb": max(0.0, coulomb * (1.0 + off[4])),
            "play": max(0.0, play + off[5] * gap),
        }
        servos.append(replace(mounted(servo, off[0], off[1]), **found))
    links = {
        name: replace(link, mass=link.mass * plant.error.mass.get(name, 1.0) * (1.0 + rng.normal(0.0, MASS_SD)))
        if link.mass
        else link
        for name, link in plant.description.links.items()
    }
    arm = replace(plant.description, links=links)
    return DroopScale(arm, replace(plant.servo_map, servos=tuple(servos)), com, heaviest_kg)


def person(
    payload: float,
    *,
    plant_error: float = 0.15,
    seed: int = 0,
    com=(0.0, 0.0, 0.0),
    urdf: str = "",
    servos: str = "",
    overlay: str = "",
    heaviest_kg: float = USUAL_KG,
) -> tuple[WeighingBench, MotionValidator]:
    """Somebody beside an arm with hidden numbers, calibrated; and the validator as it is believed.

    Args:
        payload: [kg].
        plant_error: bound of the hidden errors.
        seed: of those, of what the calibration left open, and of the readings.
        heaviest_kg: that the payload is thought to be.
        urdf, servos, overlay: files of the arm; default the picker with ideal servos.
    """
    rng = np.random.default_rng(seed)
    arm = servo_arm.read_arm(urdf)
    arm, nominal = servo_arm.load(urdf, servos, overlay or servo_arm.overlay_of(arm, servos, "ideal"))
    plant = Plant(arm, hidden_servos(nominal, rng), plant_error=plant_error, seed=seed)
    scale = as_calibrated(plant, rng, com, heaviest_kg)
    validator = torque_validator(RigidBody(scale.description, scale.servos.armature), scale.servos)
    return WeighingBench(plant, rng, scale, payload), validator


class WeighingBench(SimulatedBench):
    """Moves the arm to visits and reads it.

    Args:
        plant: the arm, whose numbers nobody knows.
        rng: of the readings' noise.
        scale: what is believed.
        payload: what is put into the tool [kg].
    """

    def __init__(self, plant: Plant, rng: np.random.Generator, scale: DroopScale, payload: float):
        super().__init__(plant, rng, scale.servos)
        self.scale, self.payload, self._told = scale, payload, np.array(scale.servos.home)
        plant.reset(self._told)
        self.pulses_us = self.servos.quantise_us(self.servos.to_pulse_us(self.servos.clamp(self._told)))
        self.wait(SETTLE_S)

    def read(self, visits: Sequence[Measurement]) -> list[Measurement]:
        """Everything that is read at the visits."""
        looks = []
        for visit in visits:
            if bool(self.plant.payload) != visit.loaded:
                self.hang(visit.loaded * self.payload, self.scale.com, np.arange(6) / 5.0, 0.6)
            self._go(before(self.scale, visit), TRAVEL_S)
            self._go(self.servos.to_angle(visit.pulses_us), APPROACH_S)
            self.wait(SETTLE_S)
            seen = float(visit.sensor.of(link_poses(self.description, self.plant.q)))
            looks.append(replace(visit, value=seen + self.rng.normal(0.0, visit.sensor.sd)))
        return looks

    def _go(self, setpoint, least_s: float) -> None:
        duration_s = max(least_s, 2.0 * float(np.abs((setpoint - self._told) / self.servos.per_turn).max()))
        self.travel(self.servos, self._told, setpoint, duration_s)
        self._told = setpoint
