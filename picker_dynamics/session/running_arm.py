"""Running arm: settings, model, hardware, law and controller of one arm, put together, and kept to what its settings say."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from picker_dynamics.board.clock import SYSTEM_CLOCK, Clock
from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import Link, Port, SerialPort
from picker_dynamics.board.session import Outputs, State
from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.bus.bus_session import BusSession
from picker_dynamics.bus.dialects import DIALECTS
from picker_dynamics.bus.transport import PATIENCE_S, FeetechBus
from picker_dynamics.control.compensation import Compensator
from picker_dynamics.control.contact import Contact
from picker_dynamics.control.rest_integral import RestIntegral
from picker_dynamics.control.state_model import MODEL_STEP_S, ArmStateModel
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.controller import parameters
from picker_dynamics.controller.connection import Connection
from picker_dynamics.controller.controller import Controller, Cycle
from picker_dynamics.controller.hardware import BusServos, Hardware, ServoBoard, SimulatedTorqueArm
from picker_dynamics.controller.laws import BusLaw, Law, ServoLaw, TorqueLaw
from picker_dynamics.controller.parameters import CONTROLLER, DYNAMICS, HARDWARE, load_arm
from picker_dynamics.controller.settings import Setting, Settings
from picker_dynamics.controller.surroundings import Surroundings
from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import BoardFaultError, ConfigurationError, GoalRefusedError, InputError, PickerError
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.collision import OFF, standing_floor
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.execution import Execution, Limits, Timing
from picker_dynamics.execution.goal import Goal, asked_duration
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import GoalTracker, Outcome, Tolerances, Verdict
from picker_dynamics.execution.gripping import GripperCommand, GripperSettings, gripper_request, settings_problem
from picker_dynamics.execution.lease import Holder, Kind
from picker_dynamics.execution.motion import Motion, Phase
from picker_dynamics.execution.planning import Worker, at_once
from picker_dynamics.execution.tip_uncertainty import joint_uncertainty, tip_uncertainty
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_budget import ServoBudget
from picker_dynamics.robot.servo_map import ServoMap

if TYPE_CHECKING:
    from picker_dynamics.sim.torque_plant import TorquePlant

SIMULATED_PATIENCE_S = 0.2
"""How long a simulated servo's reply may take, whose process shares the computer [s]."""

LOOK_S = 1.0
"""How often temperatures and droop are looked at [s]."""

PARK_SPEED = 0.15
"""Largest speed of the tool while parking [m/s]."""

COMES_TO_REST_S = 3.0
"""Within which what was commanded before comes to rest [s]."""

PARK_LOOK_S = 0.02

PARK, PARK_LONGEST_S = "park", 600.0
"""Of who has the arm meanwhile, and for how long at the most [s]."""


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
        controller: its control loop; session: the same, as what may be asked of it.
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
        self.settings, self.clock, self._look_s = settings, clock, -math.inf
        control, dynamics, hardware = (settings[part] for part in parameters.PARTS)
        self.known = load_arm(control) if known is None else known
        self.description, self.servos, torque = self.known
        arm, armature = self.description, self.known.armature
        _declare_same(parameters.SERVO_ARM if torque is None else parameters.TORQUE_ARM, control, dynamics, hardware)
        limits, shipped = _bounds(self.known)
        self.poses = self.known.poses
        floor_z, why_no_floor = standing_floor(arm, self.poses[0])
        on_bus = self.servos is not None and self.servos.bus is not None
        if on_bus and passive:
            raise ConfigurationError("servos on a bus take commands of this arm's own controller alone: start arm", "bus")
        control.declare(*parameters.controller(arm, self.servos is not None, floor_z, shipped, on_bus))
        self.gripper = _gripper(control, arm, self.servos)
        dynamics.declare(*parameters.PAYLOAD)
        self.model_of = partial(lagrangian.analytic_model, arm, armature)
        self.model = RigidBody(arm, armature=armature)
        report = cross_check.compare(self.model_of(), self.model, arm)
        report.require()
        self.cross_check_worst = float(report.worst)
        self.worker = Worker() if plans_beside else None
        self.connection: Connection | None = None
        self.plant: TorquePlant | None = None
        if torque is not None:
            board, law = self._torque_arm(torque)
        else:
            assert self.servos is not None
            board, law = (self._servo_bus if on_bus else self._servo_board)(self.servos, open_port)
        rate_hz, deceleration = control["rate_hz"], control["max_deceleration"]
        timing = Timing(rate_hz, control["lead_s"], max(1, round(rate_hz / control["action_monitor_rate"])))
        execution = Execution(arm, Limits(limits, self.model_of()), timing, deceleration, worker=self.worker or at_once)
        around = {name: control[f"collision.{name}"] for name in ("enabled", "scene")}
        self.surroundings = Surroundings(arm, self.servos, self.poses, deceleration, **around)
        self.controller = self.session = Controller(board, law, execution, self.model_of, clock, self.poses)
        self.controller.passive = passive
        self._take_control(set())
        self._take_payload()
        self.surroundings.changed = partial(self._take_control, set())
        control.take, dynamics.take, hardware.take = self._take_control, self._take_dynamics, self._take_hardware
        self.session.subscribe(self._look)
        self._starts = bool(self.servos is not None and hardware["autostart"])
        self.notes = (
            f"cross-check passed: two models of {arm.name} agree to {self.cross_check_worst:.1e}",
            *([f"no floor check: {why_no_floor or 'floor_z is -inf'}"] if control["floor_z"] == OFF else []),
            *(f"collision: {note}" for note in self.surroundings.notes),
        )

    def _servo_board(self, servos: ServoMap, open_port: Callable[[str, int], Port]) -> tuple[Hardware, Law]:
        arm, hardware, law = self.description, self.settings[HARDWARE], self._compensator(servos)
        hardware.declare(*parameters.SERVO_BOARD)
        model = ArmStateModel(self.model, servos.model, servos.rest, MODEL_STEP_S, arm.position_units)
        budget = ServoBudget(servos, ambient_c=hardware["ambient_c"], limit_c=hardware["temperature_limit_c"])
        link = Link(hardware["port"], baud=hardware["baud"], joint_names=arm.joint_names, clock=self.clock, open_port=open_port)
        session = HardwareSession(link, servos, model, budget, self.clock)
        session.port_comes = hardware["at_rest_pose"]  # a simulated board makes its port while this process starts
        self.connection = Connection(session, hardware["port"])
        return ServoBoard(session), ServoLaw(law)

    def _servo_bus(self, servos: ServoMap, open_port: Callable[[str, int], Port]) -> tuple[Hardware, Law]:
        hardware, dynamics = self.settings[HARDWARE], self.settings[DYNAMICS]
        hardware.declare(*parameters.SERVO_BUS)
        dynamics.declare(*parameters.BUS_DYNAMICS)
        law = self._compensator(servos)
        step, free = 2.0 * (joint_uncertainty(servos) - servos.model.gap), np.array([one.grip is None for one in servos.servos])
        integral = RestIntegral(law, step, servos.model.play, free)
        contact = Contact(law, servos.model, self.description.effort_units, free)
        integral.on, contact.on = dynamics["integral"], dynamics["contact_stop"]
        dialect = DIALECTS[servos.bus or ""]
        patience_s = SIMULATED_PATIENCE_S if hardware["at_rest_pose"] else PATIENCE_S
        bus = FeetechBus(hardware["port"], hardware["baud"], dialect.sync_reads, self.clock, open_port, patience_s)
        session = BusSession(bus, dialect, servos, clock=self.clock)
        self.connection = Connection(session, hardware["port"])
        return BusServos(session), BusLaw(law, integral, contact)

    def _compensator(self, servos: ServoMap) -> Compensator:
        dynamics = self.settings[DYNAMICS]
        dynamics.declare(*parameters.SERVO_DYNAMICS)
        how = (dynamics[name] for name in ("compensation", "fade_s", "payload.transition_s"))
        return Compensator(self.model, servos, *how)

    def _torque_arm(self, arm: arms.Arm) -> tuple[Hardware, Law]:
        from picker_dynamics.sim.torque_plant import TorquePlant  # here, so that without MuJoCo it ends with one line

        described, dynamics, hardware = self.description, self.settings[DYNAMICS], self.settings[HARDWARE]
        assert arm.bandwidth is not None
        dynamics.declare(parameters.bandwidth(arm.bandwidth))
        hardware.declare(*parameters.SIMULATED_TORQUE_ARM)
        self.plant = TorquePlant(described, q=arm.home, plant_error=hardware["plant_error"], seed=hardware["seed"])
        self.plant.attach(hardware["attached_kg"])
        drives = TorqueSession(RigidBody(described), described.effort, described.velocity, arm.bandwidth)
        drives.activate(at_rest_pose=True)
        loop = TorqueLoop(self.model, dynamics["bandwidth"], dynamics["payload.transition_s"])
        return SimulatedTorqueArm(self.plant, drives, self.clock.now()), TorqueLaw(loop)

    @property
    def outputs(self) -> Outputs:
        """The session of its outputs."""
        return self.controller.hardware.session

    @property
    def provenance(self) -> str:
        """Where joint states come from: measured or modelled."""
        return "measured" if self.controller.hardware.measures else "modelled"

    @property
    def period_s(self) -> float:
        """Period of the control loop [s]."""
        if self.servos is not None:
            return float(1.0 / self.settings[CONTROLLER]["rate_hz"])
        return float(1.0 / self.settings[HARDWARE]["measure_rate_hz"])

    # -- settings ------------------------------------------------------------------------------------------

    def _take_control(self, _names: set[str]) -> None:
        """Hold motions to what the settings say."""
        values = self.settings[CONTROLLER]
        self.controller.execution.change_some(
            tip_speed=values["tip_speed_limit"],
            scales_time=values["stretch"],
            speed=values["speed_scaling"],
            further=(self.surroundings.check(values["floor_z"], values["collision.margin"]),),
            approach=values["approach"] == "auto",
        )

    def _take_dynamics(self, names: set[str]) -> None:
        law, values = self.controller.law if "compensation" in names else None, self.settings[DYNAMICS]
        if isinstance(law, ServoLaw):
            law.require_mode(values["compensation"])
        if any(name.startswith("payload.") for name in names):
            self._take_payload()
        if isinstance(law, ServoLaw):
            law.compensator.set_mode(values["compensation"])
        if isinstance(self.controller.law, BusLaw):
            self.controller.law.integral.on, self.controller.law.contact.on = values["integral"], values["contact_stop"]

    def _take_payload(self) -> None:
        values = self.settings[DYNAMICS]
        self.controller.set_payload(values["payload.mass"], values["payload.com"], self.clock.now())

    def _take_hardware(self, names: set[str]) -> None:
        values, outputs = self.settings[HARDWARE], self.outputs
        if "temperature_limit_c" in names and isinstance(outputs, HardwareSession):
            outputs.budget.set_limit(values["temperature_limit_c"])
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
        arm, approach, model = self.description, motion.approach, self.controller.execution.limits.model
        factor = 1.0 if motion.validated is None else motion.validated.factor
        remarks = [f"slowed {factor:.2f} times to fit"] if factor > 1.0 else []
        if approach is not None and approach.joints:
            remarks.append(f"lowered to the pose: {', '.join(arm.joint_names[j] for j in approach.joints)}")
        elif approach is not None and approach.wanted:
            remarks.append(approach.text(arm.joint_names))
        if self.servos is not None and not self.controller.hardware.measures:
            bounds = None if approach is None else approach.bounds
            off_m = tip_uncertainty(model, self.servos, motion.trajectory.end, bounds)
            remarks.append(f"modelled, not measured: the tip within {1e3 * off_m:.0f} mm if nothing holds it back")
        wanted = (tolerances or self.tolerances()).select_joints(motion.joints)
        return GoalTracker(arm.joint_names, arm.position_units, wanted, motion.start_s, "; ".join(remarks))

    def grip(self, position: Sequence[float], effort: Sequence[float] = (), **asker: Any) -> GoalRequest:
        """Make a command of the gripper's joint to ``position`` [rad or m]: done there, or where what it grips stops it.

        Raises:
            InputError: there is no gripper.
        """
        if self.gripper is None:
            raise InputError("this arm has no gripper", "gripper")
        settings, command = replace(self.gripper, allow_stalling=True), GripperCommand((), position, effort=effort)
        return gripper_request(command, settings, self.controller.execution, self.clock.now, **asker)

    # -- on and off ----------------------------------------------------------------------------------------

    def configure(self) -> None:
        """Look for the board, until ``disconnect``."""
        if self.connection is not None:
            self.connection.open()

    def connect(self, give_up_s: float = math.inf) -> None:
        """Connect to the board or bus here and now; errors as ``HardwareSession.connect``."""
        assert self.connection is not None
        self.connection.session.cancelled.clear()
        self.connection.session.connect(give_up_s)
        self.connection.wanted = self.worker is not None  # a lost one is looked for again, but on virtual time

    def disconnect(self) -> None:
        """Close the port; the board holds what it has."""
        if self.connection is not None:
            self.connection.close()

    def activate(self, at_rest_pose: bool, begins: bool = True) -> str:
        """Take commands, as ``Controller.enable`` does; a status tells why not."""
        try:
            return self.session.enable(at_rest_pose, begins)
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
        outputs, law, hardware = self.outputs, self.controller.law, self.settings[HARDWARE]
        if self.connection is not None:
            self.connection.look()
            if self._starts and self.connection.wanted and outputs.state is State.IDLE:
                self._starts = False
                with contextlib.suppress(PickerError):  # the status says so
                    self.activate(hardware["at_rest_pose"], begins=False)
        if cycle.now_s < self._look_s:
            return
        self._look_s = cycle.now_s + LOOK_S
        if isinstance(outputs, HardwareSession) and hardware["on_overheat"] == "stop" and not outputs.stop_latched:
            if (temperature := outputs.budget.temperature()) is not None and temperature.too_hot:
                outputs.stop()
                outputs.problem = f"stopped: {temperature.text}"
        if isinstance(law, ServoLaw) and self.surroundings.enabled:
            try:
                self.surroundings.set_droops(law.droops)
            except PickerError as error:
                self.controller.execution.tell(EventKind.PROBLEM, f"compensation refused: {error}", error=error)

    def leave(self, hurried: Callable[[], bool]) -> None:
        """Leave the arm as ``on_shutdown`` says; the loop has to go on meanwhile.

        Raises:
            PickerError: it could not be parked or relaxed; it holds.
        """
        how = self.settings[HARDWARE]["on_shutdown"] if self.servos is not None else "hold"
        if how == "relax" and self.outputs.state is not State.OFFLINE:
            self.session.disable()
        elif how == "park" and self.outputs.state is State.ACTIVE:
            park(self.session, self.poses[0], hurried)

    def close(self) -> None:
        """Close port and worker, after the last cycle; the board holds what it has."""
        self.disconnect()
        if self.worker is not None:
            self.worker.close()


def straight_goal(arm: ArmDescription, start: Array, target: Array, least_s: float = 0.0) -> Goal:
    """A goal straight from one pose (n,) to another [rad or m], in ``least_s`` or as long as the tip's way takes."""
    still = [np.zeros(arm.n).tolist()]
    return Goal(arm.joint_names, [asked_duration(arm, start, target, least_s)], [target.tolist()], still, still)


def park(session: Controller, rest: Array, hurried: Callable[[], bool]) -> None:
    """Move slowly to the pose ``rest`` (n,) [rad], while another thread runs the control loop; returns when the arm is there.

    Raises:
        PickerError: the way cannot be taken, a fault or a stop on the way, or ``hurried()``; the arm holds then.
    """
    execution, answers = session.execution, list[Verdict]()
    session.cancel()
    until_s = time.monotonic() + COMES_TO_REST_S
    while execution.phase is not Phase.HOLDING and time.monotonic() < until_s and not hurried():
        time.sleep(PARK_LOOK_S)
    held = session.reference()
    if held is None:
        raise BoardFaultError(f"not parked: {session.hardware.session.problem or session.problem}")
    arm, limits = execution.description, execution.limits
    goal = straight_goal(arm, held, rest)
    with session.turn:  # nobody takes the arm from its last motion
        execution.lease.end_all()
        execution.lease.grant(Holder(Kind.DRIVER, PARK), range(arm.n), session.clock.now() + PARK_LONGEST_S)
    session.change(tip_speed=min(limits.tip_speed, PARK_SPEED), scales_time=True, speed=1.0)
    session.submit(GoalRequest(lambda: goal, identifier=PARK, driver=PARK, answer=answers.append))
    while not answers:
        if hurried():
            session.stop()
            raise BoardFaultError("not parked: ended at once; holding")
        time.sleep(PARK_LOOK_S)
    if answers[0].outcome is not Outcome.SUCCEEDED:
        raise GoalRefusedError(f"not parked: {answers[0].text}")


def _declare_same(same: Sequence[Setting], control: Settings, *parts: Settings) -> None:
    """Declare which arm it is in all parts; raises a ConfigurationError where one means another arm than ``control``."""
    control.declare(*same)
    for part in parts:
        part.declare(*same)
        for name, value in ((one.name, part[one.name]) for one in same if part[one.name] != one.default):
            if value != control[name]:
                text = f"{name} is {value!r} for {part.owner}, {control[name]!r} for {control.owner}: an arm has one"
                raise ConfigurationError(text, name, value)


def _bounds(known: Known) -> tuple[TorqueLimits, Tolerances]:
    """Torque limits and tolerances of an arm."""
    if known.torque is not None:
        return TorqueLimits.of_arm(known.torque), Tolerances.of_arm(known.torque)
    assert known.servos is not None
    return TorqueLimits.of_servos(known.servos), Tolerances.of_servos(known.servos)


def _gripper(control: Settings, arm: ArmDescription, servos: ServoMap | None) -> GripperSettings | None:
    """Declare the settings of the joint that grips; returns them, None where there is none."""
    found = servo_arm.gripper_of(arm, servos)
    control.declare(parameters.gripper_joint("" if found is None else arm.joint_names[found]))
    joint = control["gripper.joint"]
    fits = GripperSettings.of(arm, arm.joint_names.index(joint)) if joint in arm.joint_names else GripperSettings(joint)
    declared = parameters.gripper(fits)
    control.declare(*declared)
    if not joint:
        return None
    chosen = {one.name.removeprefix("gripper."): control[one.name] for one in declared}
    grips = {} if servos is None else {one.joint: one.grip.torque for one in servos.servos if one.grip is not None}
    settings = replace(fits, **chosen, torque=grips.get(joint))
    if problem := settings_problem(settings, arm):
        raise ConfigurationError(problem, "gripper.joint")
    return settings
