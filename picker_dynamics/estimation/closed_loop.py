"""Closed loop of controller, board and arm without ROS, faster than real time: trajectory to pulses to the arm's true tip.

    trajectory(t + lead) -> ServoLaw -> HardwareSession, sender, link -> bytes -> firmware -> Plant

Each arrow is the robot's own code on virtual time.  What is left out is the wire's delay, which the lead exists to hide.
Errors are those of the plant's true tip against where the reference says the tip is at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from picker_dynamics.control.compensation import Compensator
from picker_dynamics.controller.laws import ServoLaw
from picker_dynamics.controller.simulated import SimulatedServos
from picker_dynamics.errors import InfeasibleError, LimitError, PickerError
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.motion import Reference
from picker_dynamics.execution.settle_downward import Approach, foreseen, settle_downward, started, take_load
from picker_dynamics.execution.validator import MotionValidator, Validated
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.plant import Plant
from picker_dynamics.trajectory.profiles import joint_move, limit_tip_speed
from picker_dynamics.trajectory.trajectory import Trajectory, standing

LEAD_S = 0.06
"""How far ahead of the time at which it holds a set-point is sent [s]."""

PERIOD_S = 0.01
"""Of the controller [s]."""

SETTLE_S = 2.5
"""How long after arrival a hold error is read [s]: a stretched shoulder swings for 1.7 s."""

REACH_M, HEIGHT_M = 0.2, 0.02
"""Where work is done: poses with the tip nearer than this to the base axis are folded, and bear little; nearer to the mounting
plane it touches something [m]."""

SLOWING = 1.001
"""Resolution of the factor by which a path is slowed until it may be made."""

TIP_SPEED = 0.25
"""Default limit of the tip's speed [m/s]."""


@dataclass(frozen=True)
class Recording:
    """Time series of a run, one row per control period; times from the loop's start.

    Attributes:
        t: (s,) [s].
        q_ref, q: (s, n) reference at that moment, and truth [rad].
        setpoint: (s, n) what the servos were told, after quantisation [rad]; NaN where relaxed.
        tau_ref, tau: (s, n) torque the model asks for at that moment, and true torque of the servos [N·m].
        tip_ref, tip: (s, 3) where the tip should be, and where it is [m].
    """

    t: np.ndarray
    q_ref: np.ndarray
    q: np.ndarray
    setpoint: np.ndarray
    tau_ref: np.ndarray
    tau: np.ndarray
    tip_ref: np.ndarray
    tip: np.ndarray

    @property
    def tip_error(self) -> np.ndarray:
        """Tip error, (s,): distance of the tip from where it should be [m]."""
        error: np.ndarray = np.linalg.norm(self.tip - self.tip_ref, axis=1)
        return error

    @property
    def rms(self) -> float:
        """Root mean square of the tip error [m]."""
        return float(np.sqrt(np.mean(self.tip_error**2)))

    def joined(self, other: Recording) -> Recording:
        """Recording of this run and of the one after it."""
        return Recording(*(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))


class ClosedLoop:
    """Law, session, board and plant on virtual time: trajectories in, what the true arm does out.

    Args:
        plant: the arm; what differs between it and ``model`` is what the controller does not know.
        model: the controller's arm, payload included.
        servo_map: the controller's servo map.
        mode: of the compensation: none, gravity or full.
        clock_drift: how much faster than the host's the board's clock runs, as a share.
        ends: validator of motions, which may end by an approach then; None: they end as they are.

    Attributes:
        reference: that was followed last.
        approaches: of each motion; None: it ended as it was.
    """

    def __init__(
        self,
        plant: Plant,
        model: DynamicsModel,
        servo_map: ServoMap,
        mode: str = "full",
        *,
        clock_drift: float = 0.0,
        ends: MotionValidator | None = None,
    ):
        self.plant, self.model, self.servo_map, self._drift, self._ends = plant, model, servo_map, clock_drift, ends
        self.approaches: list[Approach | None] = []
        self.compensator = Compensator(model, servo_map, mode, fade_s=0.0)

    def start(self, q: np.ndarray) -> None:
        """Put the arm at ``q`` (n,) [rad], its outputs at the set-point for that; it has not sagged yet.

        Raises:
            LimitError: the pulses do not reach that pose.
        """
        self.reference, self._side = standing(self.plant.joint_names, q), started(q)
        self.compensator.side.start()
        self.compensator.start()
        setpoint, _ = self.compensator.update(*self.reference.sample(0.0), PERIOD_S)
        self.arm = SimulatedServos(self.plant, self.servo_map, self.compensator.model, q, setpoint, self._drift)
        self._law, self._begin_s = ServoLaw(self.compensator), self.plant.time

    def run(self, trajectory: Trajectory, *, stands: bool = False) -> Recording:
        """Follow ``trajectory`` from now on; ``stands``: it says itself how it ends.

        The reference is sampled ``LEAD_S`` ahead, so the motion begins that much later; the recording ends with it.

        Raises:
            BoardFaultError: the board or the sender refused a set-point, or the board latched a fault.
        """
        approach = None
        if self._ends is not None and not stands:  # as the execution plans it
            validator = replace(self._ends, model=self.compensator.model)
            asked = Validated(trajectory, 1.0, validator.sampled(trajectory))
            side = foreseen(self._side, lambda _time_s: self.reference.end, 0.0, 1.0)
            ending = trajectory.duration, 0.0, np.arange(self.plant.n), side
            ended, approach = settle_downward(asked, *ending, validator, self.plant.description)
            trajectory = ended.trajectory
        self.approaches.append(approach)
        if approach is not None:
            self._side.width = approach.width
        recording = self._record(trajectory, LEAD_S + trajectory.duration)
        if approach is not None:
            self._side.bounds = approach.bounds
        return recording

    def hold(self, duration_s: float) -> Recording:
        """Hold the present reference for ``duration_s`` [s]."""
        return self._record(standing(self.plant.joint_names, self.reference.end), duration_s)

    def _record(self, trajectory: Trajectory, duration_s: float) -> Recording:
        start_s, arm, plant = self.plant.time + LEAD_S, self.arm, self.plant
        earlier, self.reference = self.reference, trajectory
        rows = []
        for _ in range(max(1, round(duration_s / PERIOD_S))):
            holds_s = plant.time + LEAD_S
            reference = Reference(holds_s, *trajectory.sample(holds_s - start_s))
            command = self._law.command(reference, None)
            self._side.advance(reference.q)
            self.compensator.source = arm.hardware.source
            if command is None or not arm.hardware.write(command, plant.time):
                arm.require_active()
            arm.board.run(PERIOD_S)
            arm.hardware.read(plant.time)
            arm.require_active()
            now_s = plant.time
            wanted = earlier.sample(earlier.duration) if now_s < start_s else trajectory.sample(now_s - start_s)
            rows.append((now_s - self._begin_s, *wanted, plant.q, plant.setpoint, plant.torque, plant.tip))
        t, q_ref, v_ref, a_ref, q, setpoint, tau, tip = (np.array(column) for column in zip(*rows))
        tau_ref = self.compensator.model.required_torque(q_ref, v_ref, a_ref)
        return Recording(t, q_ref, q, setpoint, tau_ref, tau, self.model.forward_kinematics(q_ref), tip)

    def set_payload(self, mass: float, com: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Put a berry on the true tool and tell the controller."""
        self.plant.attach(mass, com)
        before = self.compensator.model
        self.compensator.set_payload(mass, com)
        self.arm.hardware.set_model(self.compensator.model)
        take_load(self._side, before, self.compensator.model, self.servo_map)


def endings(description: ArmDescription, model: DynamicsModel, servos: ServoMap) -> MotionValidator:
    """Validator of how motions end, that looks at their tip's speed too; motions of ``paths_between`` pass it."""
    return MotionValidator(model, TorqueLimits.of_servos(servos), description, SLOWING**20 * TIP_SPEED)


def paths_between(poses: Sequence[np.ndarray], validator: MotionValidator) -> list[Trajectory]:
    """Motions along the poses (k, n) [rad], quintic in joint space, their tip no faster than ``TIP_SPEED``.

    Raises:
        InfeasibleError, LimitError: a motion that does not pass the validator even when slowed.
    """
    servos, model = validator.servos, validator.model
    paths = []
    for before, after in zip(poses, poses[1:]):
        path = joint_move(before, after, 0.5 * servos.no_load_speed, 20.0, joint_names=model.joint_names)
        paths.append(validator.scaled(limit_tip_speed(path, model, TIP_SPEED), SLOWING).trajectory)
    return paths


def feasible_poses(
    validator: MotionValidator,
    lower: np.ndarray,
    upper: np.ndarray,
    count: int,
    *,
    seed: int,
    start: np.ndarray,
    reach_m: float = REACH_M,
    height_m: float = HEIGHT_M,
) -> list[np.ndarray]:
    """``start`` and ``count`` random poses, each of which the validator lets the arm reach from the one before.

    Uniform in joint space, less those that are nearer to the base axis or the mounting plane than asked.

    Args:
        lower, upper: (n,) position limits to draw from [rad].
        seed: of the draw.
        start: (n,) first pose [rad].
        reach_m, height_m: distance of the tip from the base axis and above the mounting plane, at least [m].

    Raises:
        PickerError: hardly any pose passes.
    """
    rng = np.random.default_rng(seed)
    poses = [np.asarray(start, dtype=float)]
    for _ in range(1000 * count):
        if len(poses) > count:
            return poses
        pose = rng.uniform(lower, upper)
        tip = validator.model.forward_kinematics(pose)
        if tip[2] < height_m or np.hypot(tip[0], tip[1]) < reach_m:
            continue
        try:
            paths_between([poses[-1], pose], validator)
        except (InfeasibleError, LimitError):
            continue
        poses.append(pose)
    raise PickerError(f"only {len(poses) - 1} of {count} random poses pass the validator", value=len(poses) - 1, limit=count)


def hold_errors(loop: ClosedLoop, paths: Sequence[Trajectory], settle_s: float = SETTLE_S) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the tip along ``paths``, which follow on each other, and at their ends.

    Returns:
        hold: (k,) tip error ``settle_s`` after each arrival [m].
        rms: (k,) root mean square of the tip error while on the way [m].
    """
    loop.start(paths[0].start)
    loop.hold(settle_s)
    hold, rms = [], []
    for path in paths:
        way = loop.run(path)
        rms.append(way.rms)
        hold.append(loop.hold(settle_s).tip_error[-1])
    return np.array(hold), np.array(rms)
