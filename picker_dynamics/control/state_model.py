"""Modelled joint state: simulation of the arm on its servos from the set-points sent, for servos that do not tell.

    M(q) dv/dt = tau_m(q_cmd, q, v) - tau_f - C(q, v) v - g(q) - F(v)          (tau_m, tau_f: ``robot.servo``)

K and D over the inertia of a light joint make this stiff (with 1e-3 kg·m²: 160 rad/s).  It is integrated by
the two-stage Rosenbrock method ROS2 (J. Verwer et al., A second-order Rosenbrock method applied to
photochemical dispersion problems, SIAM J. Sci. Comput. 20, 1999), of order 2 whatever its Jacobian:

    (I - gamma h A) k_1 = h f(y),   (I - gamma h A) k_2 = h f(y + k_1) - 2 k_1,   y+ = y + 3/2 k_1 + 1/2 k_2

with A = [[0, I], [-M^-1 K, -M^-1 B]], B = D + F(v) / v: springs and dampers, implicit; the rest explicit.  The second stage takes
M(q) dv/dt from the inverse dynamics at the first stage's acceleration, which keeps the order.  The friction of the
gears is constant during a step: what a step of the implicit Euler method needs to hold each joint that can be held, at its bound
elsewhere (``robot.dry_friction``); what is held stays where it is.
It is a *modelled* state, and whoever publishes it says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InfeasibleError, InputError
from picker_dynamics.robot.dry_friction import dry_friction
from picker_dynamics.robot.model import COULOMB_SPEED, Array, DynamicsModel, as_vector, checked_number, read_only
from picker_dynamics.robot.resting import settled
from picker_dynamics.robot.servo import ServoModel
from picker_dynamics.robot.units import told

GAMMA = 1.0 - 1.0 / math.sqrt(2.0)

REST_SPEED, REST_ACCELERATION = 1e-6, 1e-5
"""Slower than this [rad/s] and nearer to standstill [rad/s²], an arm whose set-point does not change rests: what is left of
its way is some microradians at most, and nothing has to be integrated until something changes."""

MODEL_STEP_S = 0.006
"""Longest integration step of the joint state of a running arm [s]: a cycle of 10 ms is two steps, also where it is a bit late.

Two steps stay within 1.6 mrad of twenty, one step within 3.3 (servos with and without friction, stiff and soft)."""


class ArmStateModel:
    """An arm on position servos, integrated in step with its set-points.

    Attributes:
        source: share of its nominal voltage that the servos' supply gives without load; assign another where that is known.

    Args:
        model: the arm; assign ``model`` another one when the payload changes.
        servo_model: of the same joints.
        q0: (n,) position at the begin [rad], at rest.
        max_step_s: longest integration step [s]; a longer ``dt`` is divided.
        units: (n,) of the positions, ``rad`` or ``m``, for what is said of them; default all turn.

    Raises:
        InputError: sizes that differ, values that are not finite.
    """

    def __init__(
        self, model: DynamicsModel, servo_model: ServoModel, q0: ArrayLike, max_step_s: float = 0.0025, units: Sequence[str] = ()
    ):
        if servo_model.n != model.n:
            raise InputError(f"{servo_model.n} servos for {model.n} joints", value=servo_model.n, limit=model.n)
        self.model, self.servo, self.max_step_s = model, servo_model, checked_number("max_step_s", max_step_s, above=0.0)
        self._still, self._eye = read_only(np.zeros(model.n)), np.eye(model.n)
        self.source, self.units = 1.0, tuple(units) or ("rad",) * model.n
        self._supply: Array = np.ones(())
        self.reset(q0)

    def reset(self, q: ArrayLike) -> None:
        """Be at rest at ``q`` (n,) [rad]."""
        self._q = as_vector("q", q, self.model.n)
        self._dry = self._slips = np.zeros(self.model.n)  # the gears' friction; its side at its bound
        self._v = np.zeros(self.model.n)
        self._rests: tuple[DynamicsModel, Array, float] | None = None  # model, set-point and supply with which it does

    @property
    def q(self) -> Array:
        """Joint positions, (n,) [rad]."""
        return np.array(self._q)

    @property
    def v(self) -> Array:
        """Joint velocities, (n,) [rad/s]."""
        return np.array(self._v)

    def step(self, setpoint: ArrayLike, dt: float) -> tuple[Array, Array]:
        """Position and velocity ``dt`` [s] later, with the servos at ``setpoint`` (n,) [rad] meanwhile."""
        setpoint = as_vector("set-point", setpoint, self.model.n)
        checked_number("dt", dt, "s", least=0.0)
        if self._rests is not None and self._rests[0] is self.model and self._rests[2] == self.source:
            if (self._rests[1] == setpoint).all():
                return self.q, self.v
        before, count = self._v, max(1, math.ceil(dt / self.max_step_s - 1e-9))
        for _ in range(count):
            self._advance(setpoint, dt / count)
        self._look_for_rest(setpoint, before, dt)
        return self.q, self.v

    def _look_for_rest(self, setpoint: Array, before: Array, dt: float) -> None:
        slow = dt > 0.0 and np.abs(self._v).max() < REST_SPEED and np.abs(self._v - before).max() <= REST_ACCELERATION * dt
        self._rests = (self.model, setpoint, self.source) if slow else None
        if slow:
            self._v = np.zeros_like(self._v)

    def settle(self, setpoint: ArrayLike, start: ArrayLike | None = None) -> Array:
        """Come to rest at ``setpoint`` (n,) [rad] and return the position (n,) [rad].

        Of several poses at rest (any angle of the gap, all that friction holds) a stable one near ``start``, see
        ``resting.settled``.

        Args:
            start: (n,) [rad] where to begin; default where it would rest without friction, from the set-point on.

        Raises:
            InfeasibleError: no rest was found: the arm falls.
        """
        setpoint = as_vector("set-point", setpoint, self.model.n)
        if start is None:
            start = settled(self.servo.without_friction, self.model.gravity, setpoint, setpoint, self.source)[0]
        start = as_vector("start", start, self.model.n)
        q, residual = settled(self.servo, self.model.gravity, setpoint, start, self.source)
        if not residual.any():
            self.reset(q)
            self._supply = self.servo.supply_at(setpoint, q, self.source)
            return self.q
        j = int(np.abs(residual).argmax())
        joint, stall, unit = self.model.joint_names[j], float(self.servo.stall_torque[j]), self.units[j]
        raise InfeasibleError(
            f"{joint} finds no rest at set-point {told(setpoint[j], unit)}: "
            f"{abs(residual[j]):.2f} {'N' if unit == 'm' else 'N·m'} are not borne, stall is {stall:.2f}",
            subject=joint,
            value=float(abs(residual[j])),
            limit=stall,
            time_s=0.0,
        )

    def spring_torque(self, setpoint: ArrayLike) -> Array:
        """Spring torques tau_m + D v, (n,) [N·m]: what the motors bear at this state, at ``setpoint`` (n,) [rad]."""
        return self.servo.spring_torque(setpoint, self._q, self._supply)

    def _drag(self, v: Array) -> Array:
        """B = D + F(v) / v, whose limit at standstill is the slope of F."""
        speed = np.maximum(np.abs(v), 1e-9)
        return self.servo.damping + self.model.viscous + self.model.coulomb * np.tanh(speed / COULOMB_SPEED) / speed

    def _advance(self, setpoint: Array, h: float) -> None:
        q, v, g, servo = self._q, self._v, GAMMA * h, self.servo
        K, D, drag, M = servo.stiffness, servo.damping, self._drag(v), self.model.mass_matrix(q)
        pull, brake = servo.spring_torque(setpoint, q), D * v  # at the nominal voltage
        self._supply = supply = servo.supply_under(self._supply * pull - brake, self.source)
        motor = supply * pull - brake
        push = motor - (drag - D) * v - self.model.inverse_dynamics(q, v, self._still)  # M dv/dt without the gears' friction
        gK = g * K
        euler, left = np.linalg.inv(M + self._eye * np.array([[h * (drag + h * K)], [g * (drag + gK)]]))
        free = v + h * (euler @ (push - h * K * v))
        held = None if servo.frictionless else self._look_for_friction(motor, free, h * euler)

        def solve(r_q: Array, M_r_v: Array) -> tuple[Array, Array]:
            k_v = left @ (M_r_v - gK * r_q)
            return r_q + g * k_v, k_v

        k1_q, k1_v = solve(h * v, h * (push + self._dry))
        q2, v2 = q + k1_q, v + k1_v
        late = servo.motor_torque(setpoint, q2, v2, supply) + self._dry - self.model.required_torque(q2, v2, k1_v / h)
        k2_q, k2_v = solve(h * v2 - 2.0 * k1_q, h * late - M @ k1_v)  # M dv/dt at stage 2 is M k1_v / h + late, but for O(h^2)
        self._q = q + 1.5 * k1_q + 0.5 * k2_q
        self._v = v + 1.5 * k1_v + 0.5 * k2_v
        if held is not None:
            self._q[held], self._v[held] = q[held], 0.0

    def _look_for_friction(self, motor: Array, free: Array, response: Array) -> NDArray[np.bool_]:
        """The gears' friction during the next step; (n,) which joints it holds."""
        bound = self.servo.friction(motor)
        self._dry = np.array(dry_friction(free.tolist(), response.tolist(), bound.tolist(), (self._slips * bound).tolist()))
        held: NDArray[np.bool_] = np.abs(self._dry) < bound
        self._slips = np.where(held, 0.0, np.sign(self._dry))
        return held
