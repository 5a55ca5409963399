"""Simulated arms whose numbers are hidden, which calibrate themselves: by their own servos, or by a simulated webcam."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from picker_dynamics.camera.drawn import draw as drawn
from picker_dynamics.camera.pinhole import Camera
from picker_dynamics.camera.tags import Placed, Tag, corners
from picker_dynamics.errors import PictureError
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.session.local import SimulatedSession, simulate
from picker_dynamics.sim.arm_camera import ArmCamera, Mounted
from picker_dynamics.sim.plant import Plant

from .calibration.arm_estimate import given
from .calibration.by_itself import sought
from .calibration.camera_model import HAND_SD, SHEET_SD, TagOnLink, crooks, inwards
from .calibration.camera_model import SCALE_SD as PRINT_SD
from .calibration.evaluate import exact
from .calibration.instruments import HAND, SHEET
from .calibration.seen import NUMBERS, hand_tag, seen_from
from .calibration.steps.result import link_figures, servo_figures
from .rehearsal import ZERO_SD, hidden_servos, mounted
from .urdf_text import placed

AXIS_ERROR, LENGTH_ERROR_M, EDGE_PX, BURST_S, PICTURES = math.radians(0.5), 2e-3, 0.39, 0.1, 3
"""Standard deviations of how crooked axes are [rad] and of lengths [m]; how much smaller a camera sees black squares, an edge
[px]; how long a burst of pictures takes [s]; and how many they are."""

OPTICS = [0.0, 0.0, 0.0, -0.08, 0.0], [0.0, 8.0, 8.0, 0.04, 0.01]
"""Means and standard deviations of a webcam's optics, its focal length aside (``pinhole.INTRINSICS``)."""

LEAST_M = 0.05
"""A shorter link's length is off in proportion [m]."""

COARSE_S = 1e-3
"""Step of an arm that moves slowly, twice the usual one [s]."""


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
