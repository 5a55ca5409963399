"""Running arm: settings, model, hardware, law and controller of one arm, put together, and kept to what its settings say."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from picker_dynamics.board.clock import SYSTEM_CLOCK, Clock
from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import Link, Port, SerialPort
from picker_dynamics.board.session import Session as Outputs
from picker_dynamics.board.session import State
from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.control.compensation import Compensator
from picker_dynamics.control.payload_follow import Payload, PayloadFollower, drive_effort_sd
from picker_dynamics.control.state_model import MODEL_STEP_S, ArmStateModel
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.controller import parameters
from picker_dynamics.controller.arm_settings import load_arm
from picker_dynamics.controller.connection import Connection
from picker_dynamics.controller.controller import Controller, Cycle
from picker_dynamics.controller.hardware import Hardware
from picker_dynamics.controller.laws import Law, ServoLaw, TorqueLaw
from picker_dynamics.controller.parameters import CONTROLLER, DYNAMICS, HARDWARE
from picker_dynamics.controller.payload_following import PayloadFollowing
from picker_dynamics.controller.servo_board import ServoBoard
from picker_dynamics.controller.settings import Settings
from picker_dynamics.controller.surroundings import Surroundings
from picker_dynamics.controller.torque_arm import SimulatedTorqueArm
from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import ConfigurationError, PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.execution import Execution, Limits, Timing
from picker_dynamics.execution.floor import OFF, standing_floor
from picker_dynamics.execution.goal_manager import at_once
from picker_dynamics.execution.goal_tracking import GoalTracker
from picker_dynamics.execution.gripping import GripperSettings, settings_problem
from picker_dynamics.execution.motion import Motion
from picker_dynamics.execution.tip_uncertainty import tip_uncertainty
from picker_dynamics.execution.tolerances import Tolerances
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.execution.worker import Worker
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_budget import ServoBudget
from picker_dynamics.robot.servo_map import SERVO_RATE_HZ, ServoMap
from picker_dynamics.robot.srdf import srdf_beside

from .loop import ArmLoop
from .park import TIP_SPEED, park

if TYPE_CHECKING:
    from picker_dynamics.sim.torque_plant import TorquePlant

LOOK_S = 1.0
"""How often temperatures and droop are looked at [s]."""


def hardware_session(
    settings: Settings,
    arm: ArmDescription,
    servos: ServoMap,
    clock: Clock = SYSTEM_CLOCK,
    open_port: Callable[[str, int], Port] = SerialPort,
) -> HardwareSession:
    """Declare the settings of a servo board, and make its session, which is not connected.

    Args:
        open_port: opens another port than the serial one that the settings name.
    """
    settings.declare(*parameters.SERVO_BOARD)
    model = ArmStateModel(
        lagrangian.analytic_model(arm, servos.armature), servos.model, servos.rest, MODEL_STEP_S, arm.position_units
    )
    budget = ServoBudget(servos, ambient_c=settings["ambient_c"], limit_c=settings["temperature_limit_c"])
    link = Link(settings["port"], baud=settings["baud"], joint_names=arm.joint_names, clock=clock, open_port=open_port)
    session = HardwareSession(link, servos, model, budget, clock)
    session.port_comes = settings["at_rest_pose"]  # a simulated board makes its port while this process starts
    return session


class RunningArm:
    """One arm under its controller; nothing is connected, and nothing moves, before ``configure``.

    Args:
        settings: of each of ``parameters.PARTS``; what belongs to the arm is declared here.
        clock: host time.
        passive: somebody else commands the hardware.
        open_port: opens the port of its board.
        known: the arm; None: that which the settings name.
        plans_beside: goals are planned in a thread; else in the cycle that looks at them, for virtual time.

    Attributes:
        known, description, servos: the arm; servos None: its joints take efforts.
        poses: rest and home, (n,) each [rad or m].
        session: what may be asked of it.
        connection: to its board; None: it has none.
        notes: what a person should know of it.
        cross_check_worst: relative difference of its two models.
        gripper: settings of the joint that grips; None: there is none.

    Raises:
        ConfigurationError, DescriptionError: settings or files that do not fit.
        CrossCheckError: the hand-written model and Pinocchio disagree about the URDF.
        InfeasibleError, LimitError: a payload that the arm holds neither at rest nor at home.
    """

    def __init__(
        self,
        settings: Mapping[str, Settings],
        clock: Clock = SYSTEM_CLOCK,
        passive: bool = False,
        open_port: Callable[[str, int], Port] = SerialPort,
        known: Known | None = None,
        plans_beside: bool = True,
    ):
        self.settings, self.clock, self._open_port, self._look_s = settings, clock, open_port, -float("inf")
        self._parks = False
        control, dynamics, hardware = (settings[part] for part in parameters.PARTS)
        self.known = load_arm(control) if known is None else known
        self.description, self.servos, torque = self.known
        arm = self.description
        same = parameters.SERVO_ARM if self.servos is not None else parameters.TORQUE_ARM
        control.declare(*same)
        for part in (dynamics, hardware):
            part.declare(*same)
            for one in same:
                if part[one.name] not in (control[one.name], one.default):
                    raise ConfigurationError(
                        f"{one.name} is {part[one.name]!r} for {part.owner}, {control[one.name]!r} for {control.owner}: "
                        "an arm has one",
                        subject=one.name,
                        value=part[one.name],
                    )
        if torque is not None:
            limits, shipped = TorqueLimits.of_arm(torque), Tolerances.of_arm(torque)
            rest = home = torque.home
        else:
            assert self.servos is not None
            limits, shipped = TorqueLimits.of_servos(self.servos), Tolerances.of_servos(self.servos)
            rest, home = self.servos.rest, self.servos.home
        assert rest is not None and home is not None
        self.poses = rest, home
        self._declare_control(control, rest, shipped)
        self.gripper = self._declare_gripper(control)
        dynamics.declare(*parameters.PAYLOAD)
        armature = None if self.servos is None else self.servos.armature
        self.model_of = partial(lagrangian.analytic_model, arm, armature)
        self.model = RigidBody(arm, armature=armature)
        report = cross_check.compare(self.model_of(), self.model, arm.lower, arm.upper, arm.velocity)
        report.require()
        self.cross_check_worst = float(report.worst)
        self.worker = Worker() if plans_beside else None
        self.connection: Connection | None = None
        self.plant: TorquePlant | None = None
        board, law = self._torque_arm(torque) if torque is not None else self._servo_board()
        rate_hz = control["rate_hz"]
        timing = Timing(rate_hz, control["lead_s"], max(1, round(rate_hz / control["action_monitor_rate"])))
        deceleration = control["max_deceleration"]
        execution = Execution(arm, Limits(limits), timing, deceleration, worker=self.worker or at_once)
        self.surroundings = Surroundings(
            arm,
            self.servos,
            self.poses,
            deceleration,
            enabled=control["collision.enabled"],
            scene=control["collision.scene"],
            srdf=control["collision.srdf"],
        )
        self.controller = Controller(board, law, execution, self.model_of, self.poses)
        self.controller.passive = passive
        self.session = ArmLoop(self.controller, clock)
        self.following: PayloadFollowing | None = None
        if isinstance(law, TorqueLaw):
            dynamics.declare(*parameters.FOLLOWED_PAYLOAD)
            self.following = PayloadFollowing(self.controller, law.loop, self._follower, dynamics["payload.transition_s"])
            self.session.subscribe(self.following.hear)
        self._take_control(set())
        self._take_payload()
        self.surroundings.changed = partial(self._take_control, set())
        control.take, dynamics.take, hardware.take = self._take_control, self._take_dynamics, self._take_hardware
        self.session.subscribe(self._look)
        self._starts = bool(self.servos is not None and hardware["autostart"])
        self.notes = tuple(self._notes())

    def _declare_control(self, control: Settings, rest: Array, shipped: Tolerances) -> None:
        control.declare(*parameters.TIMING)
        if self.servos is not None and control["rate_hz"] > SERVO_RATE_HZ:
            raise ConfigurationError(
                f"rate_hz is {control['rate_hz']:g} Hz, at most {SERVO_RATE_HZ:g} for servos",
                subject="rate_hz",
                value=control["rate_hz"],
                limit=SERVO_RATE_HZ,
            )
        floor_z, self._why_no_floor = standing_floor(self.description, rest)
        control.declare(*parameters.limits(self.description, floor_z, shipped))
        control.declare(*parameters.collision(srdf_beside(self.description)))

    def _declare_gripper(self, control: Settings) -> GripperSettings | None:
        arm = self.description
        found = servo_arm.gripper_of(arm, self.servos)
        control.declare(parameters.gripper_joint("" if found is None else arm.joint_names[found]))
        joint = control["gripper.joint"]
        fits = GripperSettings.of(arm, arm.joint_names.index(joint)) if joint in arm.joint_names else GripperSettings(joint)
        control.declare(*parameters.gripper(fits))
        if not joint:
            return None
        names = ("max_velocity", "goal_tolerance", "stall_velocity_threshold", "stall_timeout", "allow_stalling")
        grips = {} if self.servos is None else {one.joint: one.grip.torque for one in self.servos.servos if one.grip is not None}
        chosen = {name: control[f"gripper.{name}"] for name in names}
        settings = replace(fits, **chosen, torque=grips.get(joint))
        if problem := settings_problem(settings, arm):
            raise ConfigurationError(problem, subject="gripper.joint")
        return settings

    def _servo_board(self) -> tuple[Hardware, Law]:
        dynamics, hardware, servos = self.settings[DYNAMICS], self.settings[HARDWARE], self.servos
        assert servos is not None
        dynamics.declare(*parameters.SERVO_DYNAMICS)
        board = ServoBoard(hardware_session(hardware, self.description, servos, self.clock, self._open_port))
        self.connection = Connection(board.session, hardware["port"])
        law = Compensator(self.model, servos, dynamics["compensation"], dynamics["fade_s"], dynamics["payload.transition_s"])
        return board, ServoLaw(law)

    def _torque_arm(self, arm: arms.Arm) -> tuple[Hardware, Law]:
        from picker_dynamics.sim.torque_plant import TorquePlant  # here, so that without MuJoCo it ends with one line

        dynamics, hardware = self.settings[DYNAMICS], self.settings[HARDWARE]
        assert arm.bandwidth is not None
        dynamics.declare(parameters.bandwidth(arm.bandwidth))
        hardware.declare(*parameters.SIMULATED_TORQUE_ARM)
        self.plant = TorquePlant(self.description, q=arm.home, plant_error=hardware["plant_error"], seed=hardware["seed"])
        self.plant.attach(hardware["attached_kg"])
        drives = TorqueSession(RigidBody(self.description), self.description.effort, self.description.velocity, arm.bandwidth)
        drives.activate(at_rest_pose=True)
        loop = TorqueLoop(self.model, dynamics["bandwidth"], dynamics["payload.transition_s"])
        return SimulatedTorqueArm(self.plant, drives, self.clock.now()), TorqueLaw(loop)

    def _follower(self, **bounds: Any) -> PayloadFollower:
        return PayloadFollower(self.model, drive_effort_sd(self.description.effort, self.description.friction), **bounds)

    def _notes(self) -> Iterator[str]:
        control = self.settings[CONTROLLER]
        yield f"cross-check passed: two models of {self.description.name} agree to {self.cross_check_worst:.1e}"
        if control["floor_z"] == OFF:
            yield f"no floor is looked at: {self._why_no_floor or 'floor_z is -inf'}"
        yield from (f"collision: {note}" for note in self.surroundings.notes)

    @property
    def outputs(self) -> Outputs:
        """The session of its outputs."""
        return self.controller.hardware.session

    @property
    def provenance(self) -> str:
        """Where joint states come from: measured or modelled."""
        return "measured" if self.controller.hardware.takes_efforts else "modelled"

    @property
    def period_s(self) -> float:
        """Period of the control loop [s]."""
        name = "rate_hz" if self.servos is not None else "measure_rate_hz"
        return float(1.0 / self.settings[CONTROLLER if self.servos is not None else HARDWARE][name])

    # -- settings ------------------------------------------------------------------------------------------

    def _take_control(self, _names: set[str]) -> None:
        """Hold motions to what the settings say."""
        values, parks = self.settings[CONTROLLER], self._parks
        self.controller.execution.change_some(
            tip_speed=min(values["tip_speed_limit"], TIP_SPEED) if parks else values["tip_speed_limit"],
            scales_time=parks or values["stretch"],
            speed=1.0 if parks else values["speed_scaling"],
            further=(self.surroundings.check(values["floor_z"], values["collision.margin"]),),
            approach=values["approach"] == "auto",
        )

    def _take_dynamics(self, names: set[str]) -> None:
        law, mode = self.controller.law, self.settings[DYNAMICS]["compensation"] if "compensation" in names else ""
        if mode and isinstance(law, ServoLaw):
            law.require_mode(mode)
        if any(name.startswith("payload.") for name in names):
            self._take_payload()
        if mode and isinstance(law, ServoLaw):
            law.set_mode(mode)

    def _take_payload(self) -> None:
        values, now_s = self.settings[DYNAMICS], self.clock.now()
        mass, com = values["payload.mass"], values["payload.com"]
        if self.following is None:
            self.controller.set_payload(mass, com, now_s)
        else:
            payload = Payload(mass, tuple(com))
            self.following.set(
                payload, values["payload.follow"], values["payload.follow_max"], values["payload.follow_rate"], now_s
            )

    def _take_hardware(self, names: set[str]) -> None:
        values, outputs = self.settings[HARDWARE], self.outputs
        if "temperature_limit_c" in names and isinstance(outputs, HardwareSession):
            budget, limit = outputs.budget, values["temperature_limit_c"]
            budget.require_limits(budget.ambient_c, limit)
            budget.limit_c = limit
        if "attached_kg" in names and self.plant is not None:
            self.plant.attach(values["attached_kg"])

    def tolerances(self) -> Tolerances:
        """Tolerances of a goal that names none."""
        values, joints = self.settings[CONTROLLER], self.description.joint_names
        path, goal = ([values[f"constraints.{joint}.{what}"] for joint in joints] for what in ("trajectory", "goal"))
        return Tolerances.of(path, goal, values["constraints.stopped_velocity_tolerance"], values["constraints.goal_time"])

    def tracker(self, motion: Motion, tolerances: Tolerances | None = None) -> GoalTracker:
        """Judge of a goal: it is done where the arm is there, as far as that is known.

        Args:
            tolerances: that it asks for; by default those of the settings.
        """
        factor, arm = 1.0 if motion.validated is None else motion.validated.factor, self.description
        remarks = [f"slowed {factor:.2f} times to fit"] if factor > 1.0 else []
        approach, limits = motion.approach, self.controller.execution.limits
        if approach is not None and approach.joints:
            remarks.append(f"lowered to the pose: {', '.join(arm.joint_names[j] for j in approach.joints)}")
        elif approach is not None and approach.wanted:
            remarks.append(approach.text(arm.joint_names))
        if self.servos is not None and limits.model is not None:
            off_m = tip_uncertainty(
                limits.model, self.servos, motion.trajectory.end, None if approach is None else approach.bounds
            )
            remarks.append(f"modelled, not measured: the tip within {1e3 * off_m:.0f} mm if nothing holds it back")
        wanted = (tolerances or self.tolerances()).select_joints(motion.joints)
        return GoalTracker(arm.joint_names, arm.position_units, wanted, motion.start_s, "; ".join(remarks))

    # -- on and off ----------------------------------------------------------------------------------------

    def configure(self) -> None:
        """Look for the board, until ``disconnect``."""
        if self.connection is not None:
            self.connection.open()

    def connect(self, give_up_s: float = math.inf) -> None:
        """Connect to the board here and now; errors as ``HardwareSession.connect``."""
        assert isinstance(self.outputs, HardwareSession) and self.connection is not None
        self.outputs.cancelled.clear()
        self.outputs.connect(give_up_s)
        self.connection.wanted = self.worker is not None  # a lost one is looked for again, but on virtual time

    def disconnect(self) -> None:
        """Close the port; the board holds what it has."""
        if self.connection is not None:
            self.connection.close()

    def activate(self, at_rest_pose: bool) -> str:
        """Take commands; where outputs are off, ``at_rest_pose`` says that a person has put the arm at its rest pose."""
        try:
            return self.session.enable(at_rest_pose)
        except PickerError as error:
            self.outputs.problem = str(error)
            raise

    @property
    def lifecycle(self) -> str:
        """State in the words of a lifecycle node: unconfigured, inactive or active."""
        if self.connection is not None and not self.connection.wanted:
            return "unconfigured"
        return "active" if self.outputs.engaged else "inactive"

    def _look(self, cycle: Cycle) -> None:
        """Look at what no cycle waits for: a lost board, an arm that starts by itself, temperatures, droop."""
        if self.connection is not None:
            self.connection.look()
            if self.connection.failure is not None:
                raise self.connection.failure
            if self._starts and self.connection.wanted and self.outputs.state is State.IDLE:
                self._starts = False
                with contextlib.suppress(PickerError):  # the status says so
                    self.activate(self.settings[HARDWARE]["at_rest_pose"])
        if cycle.now_s < self._look_s:
            return
        self._look_s = cycle.now_s + LOOK_S
        outputs, law = self.outputs, self.controller.law
        if isinstance(outputs, HardwareSession):
            self._stop_where_too_hot(outputs)
        if isinstance(law, ServoLaw) and self.surroundings.enabled:
            try:
                self.surroundings.set_droops(law.droops)
            except PickerError as error:
                self.controller.execution.tell(EventKind.PROBLEM, f"compensation refused: {error}", error=error)

    def _stop_where_too_hot(self, outputs: HardwareSession) -> None:
        temperature = outputs.budget.temperature()
        wanted = self.settings[HARDWARE]["on_overheat"] == "stop"
        if wanted and temperature is not None and temperature.too_hot and not outputs.stop_latched:
            outputs.stop()
            outputs.problem = f"stopped: {temperature.text}"

    def leave(self, hurried: Callable[[], bool]) -> None:
        """Leave the arm as ``on_shutdown`` says; the loop has to go on meanwhile.

        Raises:
            PickerError: it could not be parked or relaxed; it holds.
        """
        how = self.settings[HARDWARE]["on_shutdown"] if self.servos is not None else "hold"
        if how == "relax" and self.outputs.state is not State.OFFLINE:
            self.session.disable()
        elif how == "park" and self.outputs.state is State.ACTIVE:
            assert self.servos is not None
            self._parks = True
            park(self.session, self.servos.rest, hurried)

    def close(self) -> None:
        """Close port and worker, after the last cycle; the board holds what it has."""
        self.disconnect()
        if self.worker is not None:
            self.worker.close()
