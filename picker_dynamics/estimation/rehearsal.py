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
from scipy.spatial.transform import Rotation

from picker_dynamics.board.link import Link
from picker_dynamics.camera.drawn import draw as drawn
from picker_dynamics.camera.pinhole import Camera
from picker_dynamics.camera.tags import Placed, Tag, corners
from picker_dynamics.errors import PictureError
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_map import Servo, ServoMap
from picker_dynamics.session.local import SimulatedSession, simulate
from picker_dynamics.sim.arm_camera import ArmCamera, Mounted
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.plant_error import draw

from .calibration.arm_estimate import ArmEstimate, given
from .calibration.by_itself import sought
from .calibration.camera_model import HAND_SD, SHEET_SD, TagOnLink, crooks, inwards
from .calibration.camera_model import SCALE_SD as PRINT_SD
from .calibration.evaluate import exact, tip_error_report, usual_paths
from .calibration.instruments import ANGLE_SD, HAND, INCLINOMETER_SD, RULER_SD, SHEET, Inclinometer
from .calibration.mover import FRAME_S, Mover
from .calibration.poses import stand_off
from .calibration.questions import Question
from .calibration.seen import NUMBERS, hand_tag, seen_from
from .calibration.steps.result import link_figures, servo_figures
from .payload import DroopScale, Measurement
from .urdf_text import placed

ZERO_SD, SCALE_ERROR = math.radians(2.0), 0.03
"""Of the hidden servo horns: standard deviation of the zero [rad], bound of the scale error."""

AXIS_ERROR, LENGTH_ERROR_M, EDGE_PX, BURST_S, PICTURES = math.radians(0.5), 2e-3, 0.39, 0.1, 3
"""Standard deviations of how crooked axes are [rad] and of lengths [m]; how much smaller a camera sees black squares, an edge
[px]; how long a burst of pictures takes [s]; and how many they are."""

OPTICS = [0.0, 0.0, 0.0, -0.08, 0.0], [0.0, 8.0, 8.0, 0.04, 0.01]
"""Means and standard deviations of a webcam's optics, its focal length aside (``pinhole.INTRINSICS``)."""

LEAST_M = 0.05
"""A shorter link's length is off in proportion [m]."""

COARSE_S = 1e-3
"""Step of an arm that moves slowly, twice the usual one [s]."""


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


# -- without a person ------------------------------------------------------------------------------------------------------


class HiddenArm:
    """A simulated arm whose numbers are hidden, under its own controller, which does not compensate.

    Args:
        urdf, servos, overlay: files.
        plant_error, seed: of the hidden numbers.  Zeros of servos on a bus are off where gravity tells them, those of others all,
            and their scales.
        crooked: size of the errors of axes and lengths, as a share of ``AXIS_ERROR`` and ``LENGTH_ERROR_M``; with them, all
            zeros are off.
    """

    def __init__(self, urdf: str, servos: str, overlay: str, plant_error: float, seed: int, crooked: float = 0.0):
        self.description, self.believed = given(urdf, servos, overlay)
        simulated, rng = given(urdf, servos, overlay, simulated=True)[1], np.random.default_rng(seed)
        self.model = sought(self.description, self.believed)
        if self.believed.bus is None:
            self.hidden = hidden_servos(simulated, rng)
        else:
            told = [joint for joint, bears in zip(self.model.joints, self.model.bears) if bears]
            true = (
                mounted(one, rng.normal(0.0, ZERO_SD) if crooked or one.joint in told else 0.0, 0.0) for one in simulated.servos
            )
            self.hidden = replace(simulated, servos=tuple(true))
        self.true, self.error = self._crooked(crooked, rng), plant_error
        self.hand_over(self.description, self.believed, "none", plant_error=plant_error, seed=seed)

    def _crooked(self, share: float, rng: np.random.Generator) -> ArmDescription:
        """The arm as it is built: axes and lengths are off."""
        text, arm = self.description.urdf, self.description
        for name, ways in crooks(arm, self.model.joints).items() if share else ():
            joint = arm.joint(name)
            longer = rng.normal(0.0, share * LENGTH_ERROR_M) / max(float(np.linalg.norm(joint.xyz)), LEAST_M)
            turn = Rotation.from_rotvec(rng.normal(0.0, share * AXIS_ERROR, len(ways)) @ ways).as_matrix()
            text = placed(text, name, joint.xyz * (1.0 + longer), joint.rotation @ turn)
        return replace(parse(text, arm.source), tool_frame=arm.tool_frame) if share else arm

    def under(self, description: ArmDescription, servos: ServoMap, compensation: str, **plant: Any) -> SimulatedSession:
        """The arm under a controller that believes ``description`` and ``servos``."""
        known = Known(description, servos)
        return simulate(known, compensation, "", hidden=self.hidden, true=self.true, dt=COARSE_S, **plant)

    def hand_over(self, description: ArmDescription, servos: ServoMap, compensation: str, **plant: Any) -> SimulatedSession:
        """Put the arm under another controller, which is its ``session`` from then on."""
        self.session = self.under(description, servos, compensation, **plant)
        assert isinstance(self.session.plant, Plant)
        self.plant = self.session.plant
        return self.session

    def judged(self, report: dict[str, Any]) -> dict[str, Any]:
        """The report with the truth beside what was found."""
        description, servos = exact(self.plant, self.believed)
        for servo, was in zip(servos.servos, self.believed.servos):
            for key, entry in report["joints"].get(servo.joint, {}).items():
                if (truth := servo_figures(servo, was).get(key)) is not None:
                    entry["truth"] = truth
        for name, entries in report["links"].items():
            for key, entry in entries.items():
                entry["truth"] = link_figures(description, name)[key]
        return report


class SimulatedEye:
    """A webcam beside a hidden arm, which sees tags that are printed and glued as well as people do it.

    Args:
        hidden: the arm.
        hand_size, sheet: size of the hand's tag [m], and the sheet's tag, as believed.
        seed: of where the camera is, how the tags are placed, and of the pictures' noise.
        noise_px: standard deviation of a corner's coordinate where no pictures are drawn; None: pictures are drawn and looked at.
    """

    width, height = 1280, 720
    picture: np.ndarray | None = None

    def __init__(self, hidden: HiddenArm, hand_size: float, sheet: TagOnLink, seed: int, noise_px: float | None = None):
        rng = self._rng = np.random.default_rng(1000 + seed)
        self._hidden, self._noise, scale = hidden, noise_px, 1.0 + rng.normal(0.0, PRINT_SD)
        home, hand = np.array(hidden.believed.home), hand_tag(hidden.model, hand_size)
        if hand.placed(link_poses(hidden.description, home)[hand.link]).rotation[:, 2] @ sheet.position < 0.0:
            hand = hand_tag(hidden.model, hand_size, -1.0)  # both on one side of the arm
        self.hand = self._glued(hand, np.array(HAND_SD) * [1.0, 1.0, 1.0, 0.7, 0.7, 0.7], scale)
        self.sheet = self._glued(sheet, np.array(SHEET_SD), scale)
        middle = link_poses(hidden.description, hidden.believed.home)[hand.link].position
        self.camera = self._stood(0.5 * (middle + sheet.position), hand)

    def _glued(self, tag: TagOnLink, sds: np.ndarray, scale: float) -> TagOnLink:
        turn, way = np.split(self._rng.normal(0.0, sds), 2)
        rotation = tag.rotation @ Rotation.from_rotvec(turn).as_matrix()
        return replace(
            tag, rotation=rotation, position=tag.position + tag.rotation @ way, tag=Tag(tag.tag.number, scale * tag.tag.size_m)
        )

    def _stood(self, middle: np.ndarray, hand: TagOnLink) -> Camera:
        """A camera on the side to which the hand's tag faces at home, which sees both."""
        arm, home = self._hidden.description, np.array(self._hidden.believed.home)
        out = link_poses(arm, home)[hand.link].rotation @ hand.rotation[:, 2]
        for _ in range(100):
            position = middle + self._rng.uniform(0.65, 0.85) * out + self._rng.uniform([-0.1, -0.1, 0.15], [0.1, 0.1, 0.35])
            camera = Camera.looking(self.width, self.height, self._rng.uniform(0.7, 0.92) * self.width, position, middle)
            optics = self._rng.normal(*OPTICS)
            camera = camera.moved(self._rng.normal(0.0, 0.03, 3), np.zeros(3), optics)
            if seen_from(camera, arm, hand, home) and seen_from(camera, arm, self.sheet, home):
                return camera
        raise PictureError(f"no camera beside {arm.name} sees both tags", arm.name)

    def look(self) -> dict[str, np.ndarray]:
        """Corners of the tags that are seen."""
        self._hidden.session.spin(BURST_S)
        return self.seen(self._hidden.plant.q)

    def seen(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Corners of the tags that are seen with the joints at ``q`` (n,) [rad]."""
        if self._noise is None:
            burst = self.burst(q)
            seen, self.picture = [corners(one) for one in burst], burst[-1]
            there = {name: number for name, number in NUMBERS.items() if all(number in one for one in seen)}
            return {name: np.mean([one[number] for one in seen], axis=0) for name, number in there.items()}
        found = {}
        for name, tag in self._placed(q).items():
            pixels = self.camera.project(tag.corners)
            if seen_from(self.camera, self._hidden.true, {HAND: self.hand, SHEET: self.sheet}[name], q):
                found[name] = pixels + EDGE_PX * inwards(pixels) + self._rng.normal(0.0, self._noise, pixels.shape)
        return found

    def burst(self, q: np.ndarray) -> list[np.ndarray]:
        """Pictures (height, width), uint8, of the arm at ``q`` (n,) [rad]: tags alone, which hide nothing."""
        tags = [*self._placed(q).values()]
        return [drawn(self.camera, tags, seed=int(seed)) for seed in self._rng.integers(0, 2**31, PICTURES)]

    def _placed(self, q: np.ndarray) -> dict[str, Placed]:
        poses = link_poses(self._hidden.true, q)
        return {name: tag.placed(poses[tag.link]) for name, tag in ((HAND, self.hand), (SHEET, self.sheet))}


class RenderedEye(SimulatedEye):
    """The same webcam, without distortion, in whose pictures the arm is seen, and hides its tags at times.

    Raises:
        MissingDependencyError: EGL does not run on this machine.
    """

    def __init__(self, hidden: HiddenArm, hand_size: float, sheet: TagOnLink, seed: int):
        super().__init__(hidden, hand_size, sheet, seed)
        self.camera = replace(self.camera, distortion=(0.0, 0.0))
        tags = [Mounted(one.link, Placed(one.tag, one.rotation, one.position)) for one in (self.hand, self.sheet)]
        self._renderer = ArmCamera(hidden.true, tags, self.width, self.height)

    def burst(self, q: np.ndarray) -> list[np.ndarray]:
        """Pictures (height, width), uint8, of the arm at ``q`` (n,) [rad]."""
        seeds = self._rng.integers(0, 2**31, PICTURES)
        return [self._renderer.picture(q, self.camera, seed=int(seed)) for seed in seeds]


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
