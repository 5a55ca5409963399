"""Bench of a simulated arm that is at rest at once, for benchmarks and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.estimation.calibration.droop_model import skid
from picker_dynamics.estimation.calibration.instruments import INCLINOMETER_SD
from picker_dynamics.estimation.calibration.poses import Station
from picker_dynamics.estimation.calibration.servo_figures import horn_slope
from picker_dynamics.estimation.rehearsal import SimulatedBench
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.resting import resting_position

HOPS, CHANCE_NM = (0.4, 1.6), 0.003
"""Of where joints of ``RestingBench`` stop short of the friction's edge: range, as a share of what a hop of their pulses makes
(``droop_model``), and standard deviation of the rest [N·m].  MuJoCo's arm stops so."""


@dataclass
class RestingBench(SimulatedBench):
    """Bench of an arm already at rest: where MuJoCo's gravity, the hidden servos' springs and friction balance.

    Joints rest at the edge of their friction on the side from which they came, less what their last hop leaves, which is drawn;
    those that bear so little that a hop carries them through their gap rest about there by chance.
    """

    def read_station(self, _validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> list[float]:
        """Be at rest at the station with the weight on, and read its sensors [rad or m]."""
        plant, column, hops = self.plant, list(columns), self.hops(station)
        held = -side * self.rng.uniform(*HOPS, plant.n) * hops
        held += self.rng.normal(0.0, CHANCE_NM, plant.n) / plant.servo_map.per_turn
        q, servo = self.resting(station, columns, side, held), plant.whole_servo
        plant.attach(station.weight.mass, station.weight.point)
        skids = skid(plant.bias(q, np.zeros(plant.n)) + side * servo.coulomb, hops, servo.gap)
        plant.attach(0.0)
        q[column] += skids[column] * self.rng.normal(size=len(column))
        poses = link_poses(plant.description, q)
        return [float(sensor.of(poses) + self.rng.normal(0.0, INCLINOMETER_SD)) for sensor in station.sensors]

    def hops(self, station: Station) -> np.ndarray:
        """Torques, (n,), by which joints usually stop short of the friction's edge [N·m]."""
        plant = self.plant
        plant.attach(station.weight.mass, station.weight.point)
        inertia = np.diag(plant.mass_matrix(plant.servo_map.to_angle(station.pulses_us)))
        zeta = np.minimum(0.5 * plant.servo.damping / np.sqrt(plant.servo.stiffness * inertia), 0.999)
        over = np.exp(-np.pi * zeta / np.sqrt(1.0 - zeta**2))
        steps = [horn_slope(one) * plant.servo_map.quantum_us for one in plant.servo_map.servos]
        return plant.servo.stiffness * steps * over / (1.0 + over)

    def resting(self, station: Station, columns: Sequence[int], side: float, held=0.0) -> np.ndarray:
        """Rest positions of the joints (n,) [rad], the weight on, come from one side; ``held``: borne besides (n,) [N·m]."""
        plant, column, still = self.plant, list(columns), np.zeros(self.plant.n)
        plant.attach(station.weight.mass, station.weight.point)
        servo = plant.whole_servo
        q = np.array(plant.servo_map.to_angle(station.pulses_us))

        def motor(some):
            q[column] = some
            return servo.motor_for(plant.bias(q, still) + held, side)[column]

        def pull(some):  # with its derivatives, by differences
            here, step = motor(some), 1e-6
            return here, np.stack([(motor(some + ahead) - here) / step for ahead in step * np.eye(len(some))], axis=-1)

        q[column] = resting_position(q[column], pull, 1.0 / servo.stiffness[column], servo.gap[column])
        plant.attach(0.0)
        return q
