"""Rehearsals of calibrating and weighing (``--simulated``): simulated arm on the bench, simulated person, and the truth.

A session is the same as with a board and a terminal.  Questions are answered from the arm's truth, with the noise of real
instruments; time passes as fast as it can.  The arm is MuJoCo's (``sim.plant``).  What is hidden: masses, inertias, stiffness,
deadband, damping, friction and play as ``plant_error`` draws them, and on top of that the zero and the scale of every servo.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from picker_dynamics.board.link import Link
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_map import Servo, ServoMap
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.plant_error import draw

from .calibration.arm_estimate import ArmEstimate, given
from .calibration.evaluate import exact, tip_error_report, usual_paths
from .calibration.instruments import ANGLE_SD, INCLINOMETER_SD, RULER_SD, Inclinometer
from .calibration.mover import FRAME_S, Mover
from .calibration.poses import stand_off
from .calibration.questions import Question
from .calibration.steps.result import servo_figures
from .payload import DroopScale, Measurement

ZERO_SD, SCALE_ERROR = math.radians(2.0), 0.03
"""Of the hidden servo horns: standard deviation of the zero [rad], bound of the scale error."""


def hidden_servos(servos: ServoMap, rng: np.random.Generator, horn_error: float = 1.0) -> ServoMap:
    """The servo map as it truly is: each horn a few degrees off, each servo turning a little more or less per microsecond.

    Args:
        horn_error: size of both, as a share of what is usual; 0: the horns are as the map says.
    """
    most, true = horn_error * SCALE_ERROR, []
    for servo in servos.servos:
        true.append(mounted(servo, rng.normal(0.0, horn_error * ZERO_SD), rng.uniform(-most, most)))
    return replace(servos, servos=tuple(true))


def mounted(servo: Servo, zero: float, scale: float) -> Servo:
    """The servo whose horn rests at q + zero + scale (q - middle) [rad] where ``servo`` says q."""
    angles = tuple(angle * (1.0 + scale) for angle in servo.horn_angles)
    return replace(servo, zero=servo.zero - servo.direction * zero * servo.per_turn, horn_angles=angles)


@dataclass
class SimulatedBench:
    """An arm on the bench: what a person sees of it and does to it.

    Args:
        plant: the arm with its hidden numbers.
        rng: of the readings' noise.
        servos: as believed.
    """

    plant: Plant
    rng: np.random.Generator
    servos: ServoMap
    supply: float = 1.0

    def __post_init__(self) -> None:
        servos = self.plant.servo_map
        self.pulses_us = servos.quantise_us(servos.to_pulse_us(servos.rest))

    @classmethod
    def with_errors(
        cls,
        description: ArmDescription,
        servos: ServoMap,
        *,
        plant_error: float = 0.15,
        seed: int = 0,
        horn_error: float = 1.0,
        believed: ServoMap | None = None,
    ) -> SimulatedBench:
        """An arm that differs from ``description`` and ``servos`` by hidden errors.

        Args:
            servos: what the simulated servos are built around.
            horn_error: size of the horns' errors, as a share of what is usual.
            believed: in whose rest pose it leans on something, unpowered; None: it rests in that of ``servos``.
        """
        rng = np.random.default_rng(seed)
        plant = Plant(description, hidden_servos(servos, rng, horn_error), plant_error=plant_error, seed=seed, q=servos.rest)
        if believed is not None:
            plant.reset(believed.rest, support=True)
        return cls(plant, rng, believed or servos)

    @property
    def description(self) -> ArmDescription:
        """The arm as drawn."""
        return self.plant.description

    def q(self) -> np.ndarray:
        """True joint positions, (n,) [rad]."""
        return self.plant.q

    def travel(self, servos: ServoMap, start: np.ndarray, end: np.ndarray, duration_s: float) -> None:
        """Put set-points of ``servos`` along a quintic line from ``start`` to ``end`` (n,) [rad] onto the servos' inputs."""
        for share in np.arange(1, 1 + (frames := math.ceil(duration_s / FRAME_S))) / frames:
            setpoint = start + share**3 * (10.0 - 15.0 * share + 6.0 * share**2) * (end - start)
            self.pulses_us = servos.quantise_us(servos.to_pulse_us(servos.clamp(setpoint)))
            self.wait(FRAME_S)

    def wait(self, seconds: float) -> None:
        """Let the arm rest."""
        self.plant.advance(tuple(self.pulses_us.tolist()), seconds)


class SimulatedPerson:
    """Answers as a person at the bench would: by what a question is ``about``, or its first word.

    Args:
        world: the arm, or what is seen of it and done to it in the same way.
        rng: of the readings' noise.
        show: where questions and answers are told.
    """

    def __init__(
        self, world: SimulatedBench, rng: np.random.Generator, show: Callable[[str, str], None] = lambda _text, _style: None
    ):
        self.world, self.rng, self._show = world, rng, show
        self.asked = 0

    def tell(self, text: str, style: str = "") -> None:
        """Show what the person is told."""
        self._show(text, style)

    def ask(self, question: Question) -> str:
        """Answer of the simulated person, which is shown."""
        self.asked += 1
        answer = self.answer(question)
        self._show(f"{question.text}  {answer}", "hint")
        return answer

    def answer(self, question: Question) -> str:
        """Answer to a question, as the person types it."""
        kind, *about = question.about or ("",)
        return str(getattr(self, f"_{kind}")(*about)) if kind else next(iter(question.words))

    def _joint(self, name: str) -> str:
        """Where a joint stands from its zero, by a ruler."""
        arm = self.world.description
        slides, q = arm.joint(name).slides, self.world.q()[arm.joint_names.index(name)]
        value = q + self.rng.normal(0.0, RULER_SD if slides else ANGLE_SD)
        return f"{1e3 * value if slides else math.degrees(value):.2f}"

    def _sensor(self, sensor: Inclinometer) -> str:
        value = float(sensor.of(link_poses(self.world.description, self.world.q())))
        return f"{math.degrees(value + self.rng.normal(0.0, INCLINOMETER_SD)):.2f}"


class BoardOnBench(SimulatedBench):
    """An arm behind a board in memory that was flashed for ``servos``, and is sent the protocol's bytes as a real one is."""

    def __post_init__(self) -> None:
        self.board = board = BoardInMemory(self.plant, self.servos)
        link = Link("memory", joint_names=self.servos.joint_names, clock=board, open_port=board.open)
        board.on_arrival = link.poll
        self.mover = Mover(link, self.servos, board)
        self.mover.take()

    def wait(self, seconds: float) -> None:
        """Let the arm rest."""
        self.mover.wait(seconds)


class Rehearsal:
    """The simulated arm, person and board of one session.

    Args:
        urdf, servos, overlay: files, "": the picker's.
        settings: ``plant_error`` and ``seed`` of the hidden errors.
        show: where questions and answers are told.
    """

    def __init__(self, urdf: str, servos: str, overlay: str, settings: dict[str, Any], show: Callable[[str, str], None]):
        arm, self.believed = given(urdf, servos, overlay)
        self.simulated, self.settings = given(urdf, servos, overlay, simulated=True)[1], settings
        self.bench = BoardOnBench.with_errors(arm, self.simulated, believed=self.believed, **settings)
        self.person = SimulatedPerson(self.bench, np.random.default_rng(settings["seed"] + 1), show)
        assert isinstance(self.bench, BoardOnBench)
        self.mover = self.bench.mover

    def judged(self, estimate: ArmEstimate, report: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """The report with the truth beside what was found, and hold errors before, after, and with the truth; exit code 0 if it
        holds better than before."""
        arm, true = self.bench.plant.description, exact(self.bench.plant, self.believed)
        truths = {servo.joint: servo_figures(servo, was) for servo, was in zip(true[1].servos, self.believed.servos)}
        for name, entries in report["joints"].items():
            for key in entries:
                entries[key]["truth"] = truths[name][key]
        sides = (arm, self.believed), (estimate.description, estimate.known_servos), true
        errors = tip_error_report(self.bench.plant, sides, usual_paths(arm, self.simulated))
        stages = errors.summary()
        report["hold_mm"] = {name: one["hold"] for name, one in stages.items()}
        report["tracking_mm"] = {name: one["tracking"]["median"] for name, one in stages.items()}
        report |= {"answers": self.person.asked, "simulated": self.settings}
        better = stages["after"]["hold"]["median"] < stages["before"]["hold"]["median"]
        return report, 0 if better else 1


# -- weighing -------------------------------------------------------------------------------------------------------------

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
                before, mass = self.plant.payload, visit.loaded * self.payload
                for share in (np.arange(6) / 5.0).tolist():  # a hand lets go of it gently
                    self.plant.attach(before + share * (mass - before), (0.0, 0.0, 0.0))
                    self.wait(0.1)
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
