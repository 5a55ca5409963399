"""Rehearsal of weighing: a simulated arm, known as well as a calibration knows it, carries a payload; an instrument is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.sim.plant import Plant

from ..calibration.simulated import SimulatedBench, mounted
from .droop import LOAD_FRICTION_SD, DroopScale, Measurement, stiffness_sd
from .poses import before

ZERO_SD, SCALE_SD, MASS_SD, GAP_SD, COULOMB_SD = math.radians(0.15), 0.003, 0.01, 0.1, 0.25
"""How well a calibration knows the arm (one standard deviation): zero in rad, the others as shares."""

UNKNOWN = 0.15
"""Bound of the errors of all that no calibration finds, such as rotor inertias."""

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
        zero, slope = rng.normal(size=(2, arm.n)) * [[ZERO_SD], [SCALE_SD]]
        true = tuple(mounted(*each) for each in zip(believed.servos, zero.tolist(), slope.tolist()))
        drawn = Plant(arm, replace(believed, servos=true), plant_error=UNKNOWN, seed=seed).error
        known, x = np.array([stiffness_sd(one) for one in believed.servos]), believed.model.load_friction
        error = replace(
            drawn,
            mass={name: 1.0 + rng.normal(0.0, MASS_SD) for name in drawn.mass},
            stiffness=np.exp(known * rng.normal(size=arm.n)),
            deadband=np.ones(arm.n),
            load_friction=np.where(x > 0.0, np.maximum(0.0, x + rng.normal(0.0, LOAD_FRICTION_SD, arm.n)), 0.0),
            gear_coulomb=np.maximum(0.0, 1.0 + rng.normal(0.0, COULOMB_SD, arm.n)),
            play=np.maximum(0.0, 1.0 + rng.normal(0.0, GAP_SD, arm.n)),
            resistance=1.0,
            source=1.0,
        )
        super().__init__(Plant(arm, replace(believed, servos=true), plant_error=error), rng, believed)
        self.scale, self.payload, self._told = scale, payload, np.array(believed.home)
        self.plant.reset(self._told)
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
