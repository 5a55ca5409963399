"""Benches on which simulated arms are calibrated from Python: arms that move to every station, or are at rest at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate
from picker_dynamics.estimation.calibration.droop_fit import DroopFit, whitening
from picker_dynamics.estimation.calibration.droop_model import DroopModel, Reading, skid, wrapped
from picker_dynamics.estimation.calibration.instruments import ANGLE_SD, INCLINOMETER_SD, Inclinometer, lay
from picker_dynamics.estimation.calibration.mass_properties import link_properties
from picker_dynamics.estimation.calibration.poses import TRAVEL_SPEED, Station, Weight, stand_off, way
from picker_dynamics.estimation.calibration.procedure import droop_fit, gravity_joints, measured_links
from picker_dynamics.estimation.calibration.servo_figures import ServoFigures, angle_figures, horn_slope
from picker_dynamics.estimation.calibration.write_back import rewritten
from picker_dynamics.estimation.rehearsal import SimulatedBench
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.resting import resting_position
from picker_dynamics.robot.servo_map import ServoMap

APPROACH_S, SETTLE_S = 3.0, 2.5

HOPS, CHANCE_NM = (0.4, 1.6), 0.003
"""Of where joints of ``RestingBench`` stop short of the friction's edge: range, as a share of what a hop of their pulses makes
(``droop_model``), and standard deviation of the rest [N·m].  MuJoCo's arm stops so."""

TURNED_SD = 0.02
"""Angles by which the servos may be elsewhere at a visit, for readings that do not tell all of them [rad]."""

ANGLE_PLACES = 4
"""Places of the tip on a ruler by which a joint that bears nothing is told; so many tell its zero within 0.3 degrees."""


def calibrate(
    description: ArmDescription, servos: ServoMap, bench: MovingBench, weights: Sequence[Weight], *, seed: int = 0, when: str = ""
) -> ArmEstimate:
    """Calibrate an arm: walk the whole way from the links to the figures.

    Args:
        description, servos: as believed before.
        weights: that can be hung on.
        seed: of the random poses.
        when: date, for the files.
    """
    joints = gravity_joints(description, servos)
    links = {
        name: link_properties(name, bench.link(name), aside_m=lay(description, name).aside(description.links[name].com))
        for name in measured_links(description, joints)
    }
    weighed = rewritten(description, links, when)
    angles = {name: _angles(name, servos, description, bench) for name in description.joint_names if name not in joints}
    fit = droop_fit(weighed, servos, angles, bench, weights, seed=seed)
    return ArmEstimate(weighed, servos, links, angles, fit)


def _angles(joint: str, servos: ServoMap, description: ArmDescription, bench: MovingBench) -> ServoFigures:
    """Zero and scale of a joint that bears nothing."""
    column = description.joint_names.index(joint)
    servo, low, high = servos.servos[column], description.lower[column], description.upper[column]
    told = np.linspace(low + 0.1 * (high - low), high - 0.1 * (high - low), ANGLE_PLACES)
    return angle_figures(servo, told, [bench.angle(joint, servos, one) for one in told])


def cross_validation(fit: DroopFit) -> np.ndarray:
    """Tip errors of stations that are left out and foretold from the others, in the order of the readings [m]: root mean square
    over a station's visits.

    The fit is linear enough that leaving out needs no new one: with a station's whitened residuals r and derivatives J, and the
    covariance C with it, they are off by (1 - J C Jᵀ)⁻¹ r without it (e.g. Gelman et al., Bayesian Data Analysis, ch. 14: the
    leverage of a block).  The instruments' errors and the friction of the visits are in it.

    A station's readings become joint angles by least squares, small ones where readings tell little, and these the tip's
    displacement.
    """
    model, readings = fit.model, fit.readings
    expected, jacobian, chance = model.linearised(fit.unknowns, readings)
    visits = np.array([one.visit for one in readings])
    whiten = whitening(chance, readings)
    off = wrapped(np.array([one.value for one in readings]) - expected)
    scaled, residuals = whiten @ jacobian, whiten @ off
    covariance = np.linalg.inv(scaled.T @ scaled + np.diag(model.prior[1] ** -2))
    stations: dict[tuple, list[int]] = {}
    for row, one in enumerate(readings):
        stations.setdefault((*np.asarray(one.pulses_us).tolist(), one.weight), []).append(row)
    found = []
    for rows in stations.values():
        block = scaled[rows]
        left = np.linalg.solve(np.eye(len(rows)) - block @ covariance @ block.T, residuals[rows])
        raw = np.linalg.solve(whiten[np.ix_(rows, rows)], left)
        square = [
            tip_off(model, fit.unknowns, [readings[rows[i]] for i in some], raw[some]) ** 2
            for some in (np.flatnonzero(visits[rows] == visit) for visit in np.unique(visits[rows]))
        ]
        found.append(np.sqrt(np.mean(square)))
    return np.array(found)


def tip_off(model: DroopModel, unknowns, looks: Sequence[Reading], off) -> float:
    """Distance [m] by which the tip is elsewhere if the readings of one visit are off by ``off`` (r,) [rad or m]."""
    columns = model.columns
    q = model.rest(unknowns, looks[:1]).q[0]
    poses = link_poses(model.description, q)
    rates = np.array([one.sensor.rates(model.description, poses)[columns] for one in looks])
    sd = np.full(len(looks), INCLINOMETER_SD)
    matrix = np.vstack([rates / sd[:, None], np.diag(1.0 / (TURNED_SD * model.servos.per_turn[columns]))])
    turned = np.linalg.lstsq(matrix, np.concatenate([off / sd, np.zeros(len(columns))]), rcond=None)[0]
    return float(np.linalg.norm(RigidBody(model.description).jacobian(q)[:, columns] @ turned))


@dataclass
class MovingBench(SimulatedBench):
    """The arm moves to every station, swings and sticks there (``procedure.Bench``)."""

    def keep(self, _stage: str, stations: list[Station]) -> list[Station]:
        """Visit all stations that were chosen."""
        return stations

    def read_station(self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> list[float]:
        """Come to the station from one side, hang the weight on, wait, and read its sensors [rad or m]."""
        plant, servos, there = self.plant, validator.limits.servo_map, validator.limits.servo_map.to_angle(station.pulses_us)
        for passed in way(validator, servos.to_angle(self.pulses_us), stand_off(servos, there, side, columns)):
            self._travel(servos, passed)
        weight = station.weight
        if weight.mass:
            self.hang(weight.mass, weight.point)
        self._travel(servos, there, APPROACH_S)
        self.pulses_us = np.array(station.pulses_us)
        self.wait(SETTLE_S)
        values = self.sensed(station.sensors, plant.q)
        self.supply = plant.supply if servos.measures_supply else 1.0
        if weight.mass:
            self.hang(0.0, weight.point)
        return values

    def angle(self, joint: str, servos: ServoMap, setpoint: float) -> float:
        """Position to which a joint that bears nothing goes for a set-point [rad], told from the tip on a ruler."""
        column = self.plant.joint_names.index(joint)
        true = self.plant.servo_map.servos[column]
        return float(true.to_angle(servos.servos[column].to_pulse_us(setpoint)) + self.rng.normal(0.0, ANGLE_SD))

    def sensed(self, sensors: Sequence[Inclinometer], q) -> list[float]:
        """Sensor readings with the joints at q (n,) [rad or m], the instruments' noise in it."""
        poses = link_poses(self.plant.description, q)
        return [float(sensor.of(poses) + self.rng.normal(0.0, INCLINOMETER_SD)) for sensor in sensors]

    def _travel(self, servos: ServoMap, setpoint, duration_s: float = 0.0) -> None:
        """Set-points along a smooth line to ``setpoint``, in the board's frames."""
        start = servos.to_angle(self.pulses_us)
        least_s = 2.0 * float(np.abs((setpoint - start) / servos.per_turn).max()) / TRAVEL_SPEED
        self.travel(servos, start, setpoint, duration_s or max(0.5, least_s))


@dataclass
class RestingBench(MovingBench):
    """Bench of an arm already at rest, far faster: where MuJoCo's gravity, the hidden servos' springs and friction balance.

    Joints rest at the edge of their friction on the side from which they came, less what their last hop leaves, which is drawn;
    those that bear so little that a hop carries them through their gap rest about there by chance.
    """

    def read_station(self, validator: MotionValidator, station: Station, side: float, columns: Sequence[int]) -> list[float]:
        """Be at rest at the station with the weight on, and read its sensors [rad or m]."""
        plant, column, hops = self.plant, list(columns), self.hops(station)
        held = -side * self.rng.uniform(*HOPS, plant.n) * hops
        held += self.rng.normal(0.0, CHANCE_NM, plant.n) / plant.servo_map.per_turn
        q, servo = self.resting(station, columns, side, held), plant.whole_servo
        plant.attach(station.weight.mass, station.weight.point)
        skids = skid(plant.bias(q, np.zeros(plant.n)) + side * servo.coulomb, hops, servo.gap)
        plant.attach(0.0)
        q[column] += skids[column] * self.rng.normal(size=len(column))
        return self.sensed(station.sensors, q)

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
