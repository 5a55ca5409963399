"""The simulated arm: MuJoCo on the URDF's own text, moved by hobby servos.

    M(q) a + c(q, v) = spring(q_cmd, q) - (D + b) v - dry friction - stops

``spring`` is ``ServoModel.spring_torque`` (stiffness, gap, stall) on the set-point that the quantised pulse stands for; it is
evaluated at every step, and so is the supply, which sags under the motors' current.  ``D v`` is left to MuJoCo as joint damping,
integrated implicitly: explicitly it diverges on light joints.  The dry friction is that of the gears, which grows with the
motor's torque, and the URDF's; ``b`` is the URDF's too.  It acts during a step as ``robot.dry_friction`` finds it, because
MuJoCo's own creeps where it is to hold.  Rotor inertia is MuJoCo's ``armature``.  Deviations from the nominal numbers come from
``plant_error``.

What the numbers leave open is settled as follows.

* Shapes are not simulated: the arm collides with nothing.  Mechanical stops are ``STOP_MARGIN`` beyond the URDF's
  limits (those bound what is asked for, not what the hardware can do); a joint with a grip stops where it touches.
* A relaxed joint has no spring and falls almost freely, as recordings of bus servos show: it drags with ``BACKDRIVE_DRAG``
  times D, and with the friction that its gears have without load.
* An arm at rest under constant pulses is left there: from ``REST_SPEED`` down no step is computed, only time goes on.
* ``support=True``: the operator has put the arm at its first pose, leaning on something.  Every joint is held
  there, stiffly, until its servo is first given pulses; never again after that.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.dry_friction import dry_friction
from picker_dynamics.robot.servo import ServoModel
from picker_dynamics.robot.servo_map import ServoMap

from .mujoco_arm import MujocoArm, mujoco
from .plant_error import PlantError, draw

STEP_S = 5e-4
"""Integration step [s].  The method is of first order: against a step 25 times finer the tip of a fast move is off by
0.06 mm rms (0.13 mm at most), where it comes to rest by 0.01 mm; at 1 ms by twice as much."""

STOP_MARGIN = {"revolute": 0.05, "prismatic": 0.002}
"""How far beyond the URDF's limits the mechanical stops are [rad, m]."""

BACKDRIVE_DRAG = 0.05
"""Share of D with which a relaxed joint drags."""

INERTIA_STEPS = 8
"""For how many steps a mass matrix serves friction; the motion itself goes by MuJoCo's, of each step."""

SUPPORT_STIFFNESS = 200.0
"""[N·m/rad] of what holds a joint that has not been powered yet."""

REST_SPEED, REST_LOOK_S = 5e-7, 0.05
"""Mean speed of every joint over so long [s] from which on it rests [rad/s, m/s]: what is left of its way is some 1e-7 rad."""

_STIFF_CONSTRAINT = ((2e-3, 1.0), (0.9999, 0.9999, 0.001, 0.5, 2.0))
"""MuJoCo's solref (time constant [s], damping ratio) and solimp for mechanical stops that hold."""


class Plant(MujocoArm):
    """The arm that pulses move; its state is the truth that errors are measured from.

    Args:
        description: the arm.
        servo_map: its servos, nominal.
        plant_error: bound of the relative errors of the simulated arm's numbers, 0 <= e < 1, or the errors themselves.
        seed: of those errors, if they are to be drawn.
        payload: mass at the tool [kg] from the start.
        dt: integration step [s].
        q: (n,) pose at the start [rad], default the servo map's rest pose.
        support: hold every joint at the first pose until it is first powered.
        quantise: round pulses to what the servo map's output can make; False where they come from such an output.

    Raises:
        DescriptionError: MuJoCo cannot simulate this URDF.
        InputError: a value out of range.

    Attributes:
        error: the drawn ``PlantError``.
        servo: the ``ServoModel`` of the simulated servos, errors included.
        setpoint: (n,) angles the pulses stand for, after quantisation [rad]; NaN where relaxed.
        source: share of its nominal voltage that the supply gives without load.
        at_rest: nothing moves until pulses, load or supply change.
    """

    def __init__(
        self,
        description: ArmDescription,
        servo_map: ServoMap,
        *,
        plant_error: float | PlantError = 0.0,
        seed: int = 0,
        payload: float = 0.0,
        dt: float = STEP_S,
        q: ArrayLike | None = None,
        support: bool = False,
        quantise: bool = True,
    ):
        nominal, error = servo_map.model, plant_error
        if not isinstance(error, PlantError):
            kinds = {"geared": not nominal.frictionless, "fed": not nominal.stiff_supply}
            error = draw(description, servo_map.stall_torque, error, seed, **kinds)
        super().__init__(description, error, dt, mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
        self.servo_map, self._quantise = servo_map, quantise
        self.servo = nominal.changed(
            stiffness=nominal.stiffness * error.stiffness,
            deadband=nominal.deadband * error.deadband,
            no_load_speed=nominal.no_load_speed / error.damping,
            load_friction=nominal.load_friction if error.load_friction is None else error.load_friction,
            coulomb=nominal.coulomb * error.gear_coulomb,
            play=nominal.play * error.play,
            stall_drain=nominal.stall_drain * error.resistance,
        )
        self.source, self._friction = error.source, description.friction + error.coulomb
        m = self._m
        m.dof_armature[self._dof] = servo_map.armature * error.armature
        m.dof_frictionloss[:] = 0.0
        self._inertia, self._square = np.zeros((m.nv, m.nv)), np.ix_(self._dof, self._dof)
        self._own = slice(0, self.n) if (self._dof == np.arange(self.n)).all() else self._dof
        self._dry = [0.0] * self.n
        self._held_back = self._friction + self.servo.coulomb
        self._slick = self.servo.frictionless and not self._held_back.any()
        self._most: np.ndarray | None = None
        self._force, self._jacobian = np.zeros(3), np.zeros((3, m.nv))
        m.jnt_solref[:], m.jnt_solimp[:] = _STIFF_CONSTRAINT
        for index, joint, servo in zip(self._joint, description.movable, servo_map.servos):
            if joint.type != "continuous":
                margin = STOP_MARGIN[joint.type]
                lower = joint.lower - margin if servo.grip is None else servo.grip.contact
                m.jnt_range[index] = lower, joint.upper + margin
        self.attach(payload)
        self.reset(servo_map.rest if q is None else q, support=support)

    def reset(self, q: ArrayLike, *, support: bool = False) -> None:
        """Put the arm at rest at ``q`` (n,) [rad], unpowered, at time 0; a berry stays.  ``support``: see the constructor."""
        q = self._place(q)
        self._m.jnt_stiffness[self._joint] = SUPPORT_STIFFNESS if support else 0.0
        self._m.qpos_spring[self._q_index] = q + self.bias(q, np.zeros(self.n)) / SUPPORT_STIFFNESS
        self._pulses: tuple[float | None, ...] | None = None
        self._supply = np.asarray(self.source)
        self._command((None,) * self.n)
        mujoco.mj_forward(self._m, self._d)
        self.wake()

    def attach(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Weld a berry to the tool; see :meth:`MujocoArm.attach`."""
        super().attach(mass, com)
        self.wake()

    def feed(self, source: float) -> None:
        """Feed the servos: from now on the supply gives the share ``source`` of its nominal voltage without load."""
        self.source = source
        self._supply = np.asarray(source)
        self.wake()

    def limit_torque(self, share: ArrayLike) -> None:
        """Limit the motors, from now on, to the shares ``share`` (n,) of what they give at stall."""
        self._most = np.asarray(share) * self.servo.motor_stall
        self.wake()

    def push(self, force: ArrayLike) -> None:
        """Push the tool, from now on, with ``force`` (3,) [N], base frame."""
        self._force = np.array(force, dtype=float)
        self.wake()

    def block(self, joint: int, lower: float, upper: float) -> None:
        """Move the mechanical stops of a joint to ``lower`` and ``upper`` [rad or m]: something is in its way."""
        self._m.jnt_range[self._joint[joint]] = lower, upper
        self.wake()

    # --- motion -----------------------------------------------------------------------------------

    def step(self, pulses_us: Iterable[float | None] | None = None) -> None:
        """Advance by one ``dt``.

        Args:
            pulses_us: n pulses on the servos' inputs [us], None or 0 for a joint without; None: none at all.
        """
        self.advance(pulses_us, self.dt)

    def advance(self, pulses_us: Iterable[float | None] | None, duration_s: float) -> None:
        """Step with constant pulses for ``duration_s`` [s], rounded to whole steps."""
        pulses = (None,) * self.n if pulses_us is None else tuple(pulses_us)
        if pulses != self._pulses:
            self._command(pulses)
        d, steps = self._d, round(duration_s / self.dt)
        if self.at_rest:
            d.time += steps * self.dt
            return
        for _ in range(steps):
            self._step()
        self._look_for_rest()

    def _step(self) -> None:
        """One ``dt``: spring and friction act during it; damping is MuJoCo's, implicit."""
        m, d, own = self._m, self._d, self._own
        spring = self._spring(d.qpos[self._q_index])
        pushed = self._pushed()
        d.qfrc_applied[own] = spring + pushed
        if self._slick:
            if not self.servo.stiff_supply:
                self._supply = self.servo.supply_under(spring - self._emf * d.qvel[own], self.source)
            mujoco.mj_step(m, d)
            return
        mujoco.mj_step1(m, d)
        if self._stale == 0:
            self._look_at_inertia()
        self._stale -= 1
        v = d.qvel[own]
        motor = spring - self._emf * v
        self._supply = self.servo.supply_under(motor, self.source)
        bound = self._held_back + self.servo.load_friction * np.abs(motor)
        free = v + self._response @ (spring + pushed + d.qfrc_passive[own] - d.qfrc_bias[own])
        self._dry = dry_friction(free.tolist(), self._rows, bound.tolist(), self._dry)
        d.qfrc_applied[own] = spring + pushed + self._dry
        mujoco.mj_step2(m, d)

    def _pushed(self) -> np.ndarray:
        """Torque on the joints of what pushes the tool, (n,) [N·m]."""
        if not self._force.any():
            return np.zeros(self.n)
        mujoco.mj_jacBody(self._m, self._d, self._jacobian, None, self._tool)
        pushed: np.ndarray = (self._force @ self._jacobian)[self._dof]
        return pushed

    def _spring(self, q: np.ndarray) -> np.ndarray:
        """Torque of the springs at ``q``, (n,) [N·m]; 0 where relaxed."""
        spring: np.ndarray = self.servo.spring_torque(self._aim, q, self._supply) * self._live
        return spring if self._most is None else np.clip(spring, -self._supply * self._most, self._supply * self._most)

    def _look_at_inertia(self) -> None:
        """How velocities answer to torques that act for one ``dt``: while the arm rests that does not change."""
        mujoco.mj_fullM(self._m, self._d, self._inertia)
        self._response = self.dt * np.linalg.inv(self._inertia[self._square] + self._damper)
        self._rows, self._stale = self._response.tolist(), INERTIA_STEPS

    def wake(self) -> None:
        """Wake the simulation: something has changed that may move the arm."""
        self.at_rest, self._looked_s, self._looked_q = False, self._d.time, self._d.qpos.copy()
        self._stale = 0

    def _look_for_rest(self) -> None:
        since_s = self._d.time - self._looked_s
        if since_s >= REST_LOOK_S:
            moved = np.abs(self._d.qpos - self._looked_q).max()
            self.wake()
            self.at_rest = bool(moved < REST_SPEED * since_s)

    def _command(self, pulses: tuple[float | None, ...]) -> None:
        if len(pulses) != self.n:
            raise InputError(f"{len(pulses)} pulses for {self.n} joints", value=len(pulses), limit=self.n)
        live = np.array([bool(pulse) for pulse in pulses])
        arriving = np.array([pulse or 0.0 for pulse in pulses])
        if self._quantise:
            arriving = self.servo_map.quantise_us(arriving)
        angles = [servo.to_angle(pulse) for servo, pulse in zip(self.servo_map.servos, arriving)]
        self.setpoint = np.where(live, angles, np.nan)
        self.setpoint.setflags(write=False)
        self._aim = np.where(live, angles, 0.0)
        self._live = live.astype(float)
        self._emf = self.servo.damping * self._live
        drag = self.description.damping + self.servo.damping * np.where(live, 1.0, BACKDRIVE_DRAG)
        self._m.dof_damping[self._dof], self._damper = drag, np.diag(self.dt * drag)
        self._m.jnt_stiffness[self._joint[live]] = 0.0
        self._pulses = pulses
        self.wake()

    # --- what is there ----------------------------------------------------------------------------

    @property
    def torque(self) -> np.ndarray:
        """Torque of the servos on the joints now, (n,) [N·m], damping included; 0 where relaxed."""
        motor = self._spring(self.q) - self._emf * self.v
        gears = self.servo.friction(motor)
        torque: np.ndarray = motor + self._dry * gears / np.maximum(gears + self._friction, 1e-12)  # the rest is the URDF's
        return torque

    @property
    def spring(self) -> np.ndarray:
        """Torque of the motors before what speed takes of it, (n,) [N·m]: their duty, as torque at stall."""
        return self._spring(self.q)

    @property
    def supply(self) -> float:
        """Share of its nominal voltage that reaches the servos now."""
        return float(self._supply.item())

    @property
    def whole_servo(self) -> ServoModel:
        """The simulated servos with all dry friction that there is without load, the joints' own too."""
        return self.servo.changed(coulomb=self._held_back, stall_drain=0.0)

    def tip_at(self, q: ArrayLike) -> np.ndarray:
        """Position, (3,), at which the tool would be at ``q`` [m], base frame."""
        return np.array(self._at(q, np.zeros(self.n)).xpos[self._tool])
