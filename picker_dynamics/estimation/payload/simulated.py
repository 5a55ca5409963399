"""Rehearsal of weighing: a simulated arm, known as well as a calibration knows it, carries a payload; an instrument is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.plant_error import draw

from ..calibration.instruments import INCLINOMETER_SD
from ..calibration.poses import stand_off
from ..calibration.simulated import SimulatedBench, hidden_servos
from .droop import DroopScale, Measurement

HORNS, OFF, FRICTION = 0.075, 0.07, 2.0
"""How well a calibration knows the arm: horns, as a share of what they are usually off; bound of the errors of masses, stiffness
and all else, a standard deviation of 4 %; friction that it does not see, as a multiple of what is usual at that bound."""

TRAVEL_S, APPROACH_S, SETTLE_S = 0.6, 2.5, 1.6
"""To the stand-off at least, from there into the pose, and until it is read [s]: an arm that comes fast swings, and friction
holds it anywhere (25 g are then 4 g off)."""


class WeighingBench(SimulatedBench):
    """Moves an arm whose numbers are hidden, off from those believed by what a calibration leaves, to visits and reads it.

    Args:
        scale: what is believed.
        payload: what is put into the tool [kg].
        seed: of the hidden numbers and of the readings' noise.
    """

    def __init__(self, scale: DroopScale, payload: float, seed: int = 0):
        rng, arm, believed = np.random.default_rng(seed), scale.description, scale.servos
        error = draw(arm, believed.stall_torque, OFF, seed)
        plant = Plant(
            arm,
            hidden_servos(believed, rng, HORNS),
            plant_error=replace(error, coulomb=FRICTION * error.coulomb),
            q=believed.home,
        )
        super().__init__(plant, rng, believed)
        self.scale, self.payload, self._told = scale, payload, np.array(believed.home)
        self.pulses_us = self.servos.quantise_us(self.servos.to_pulse_us(self.servos.clamp(self._told)))
        self.wait(SETTLE_S)

    def read(self, visits: Sequence[Measurement]) -> list[Measurement]:
        """Everything that is read at the visits."""
        looks = []
        for visit in visits:
            if bool(self.plant.payload) != visit.loaded:
                self.hang(visit.loaded * self.payload, (0.0, 0.0, 0.0), (np.arange(6) / 5.0).tolist(), 0.6)
            there = self.servos.to_angle(visit.pulses_us)
            self._go(stand_off(self.servos, there, visit.side, self.scale.columns), TRAVEL_S)
            self._go(there, APPROACH_S)
            self.wait(SETTLE_S)
            seen = float(visit.sensor.of(link_poses(self.description, self.plant.q)))
            looks.append(replace(visit, value=seen + self.rng.normal(0.0, INCLINOMETER_SD)))
        return looks

    def _go(self, setpoint: np.ndarray, least_s: float) -> None:
        duration_s = max(least_s, 2.0 * float(np.abs((setpoint - self._told) / self.servos.per_turn).max()))
        self.travel(self.servos, self._told, setpoint, duration_s)
        self._told = setpoint
