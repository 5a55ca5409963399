"""Calibration by a camera beside the arm, which sees a tag on its hand and one on the sheet under its base (``by_itself``).

Where the camera is follows from the first look, which way joints turn from a nudge each; eight stations tell enough to choose the
rest by, and all of them together the servos, the geometry and the camera (``camera_model``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, Protocol

import numpy as np
from scipy.optimize import least_squares

from picker_dynamics.camera.frames import Frames
from picker_dynamics.camera.judged import at_rest
from picker_dynamics.camera.pinhole import Camera
from picker_dynamics.camera.sheet import BASE, HAND_SIZES_M
from picker_dynamics.camera.sheet import HAND as HAND_NUMBER
from picker_dynamics.camera.tags import Tag
from picker_dynamics.errors import BoardFaultError, CameraError, PictureError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.session.local import LocalSession

from .arm_estimate import ArmEstimate
from .by_itself import TRAVEL_SPEED, Looker, sought, trust
from .camera_model import CORNERS, CameraModel, TagOnLink
from .droop_fit import DroopFit
from .droop_model import DroopModel, Reading
from .instruments import ALONG_AXIS, HAND, SHEET, Corner, Encoder, Sensor
from .measured import Stander
from .poses import Station
from .questions import Context

NUMBERS = {SHEET: BASE.tag.number, HAND: HAND_NUMBER}
"""Of the printed tags."""

FIRST, BARE, LOADED = 8, 12, 4
"""Stations that tell where all is roughly, the other ones, and those with a known weight."""

SETTLE_S = 1.2
"""Until an arm is looked at that has come to a station [s]."""

NUDGE, STILL = 0.15, 0.25
"""How far a joint is moved to see which way it goes [rad]; the share of that below which it does not move."""

FACES, EDGE_PX = 0.45, 30.0
"""How much of it a tag has to turn to the camera to be looked at (the cosine), and how far from the picture's edge."""

MOVED_PX, LARGER = 1.5, 8e-3
"""A camera that was moved, or focused anew: the sheet's tag is elsewhere by more than this, or so much larger."""

FOCAL_SHARE = 0.8
"""Of a picture's width, a webcam's focal length: it sees about 64 degrees."""

HAND_TAG_M, PRINTER_SHARE = 0.04, 0.06
"""Edge of the hand tag's black square, as printed [m]; how far a printer may scale it, as a share."""

HAND_OFF_M, BESIDE_M = 0.04, 0.02
"""Where the hand's tag is glued: ahead of the joint's axis along the hand, and beside the middle of it."""


class Eye(Protocol):
    """Looks at the arm; ``width`` and ``height`` of its pictures [px], and the last one (height, width), uint8, if it is kept."""

    width: int
    height: int
    picture: np.ndarray | None

    def look(self) -> Mapping[str, np.ndarray]:
        """Corners (4, 2) [px] of the tags that are seen, ``HAND`` or ``SHEET``, of an arm at rest.

        Raises:
            PictureError: the pictures are of no use, or the camera is gone.
        """


class Webcam:
    """A camera that looks at both printed tags.

    Args:
        source: of ``Frames``.
        tell: whom to tell what the camera does not let be locked.

    Raises:
        CameraError: there is none.
    """

    def __init__(self, source: str, tell: Callable[[str, str], object]):
        self._frames = Frames(source)
        for text in self._frames.lock():
            tell(text, "warning")
        self.picture: np.ndarray | None = self._frames.read()
        self.height, self.width = self.picture.shape

    def look(self) -> dict[str, np.ndarray]:
        """Corners of the tags that are seen in a burst of frames."""
        burst = self._frames.burst()
        found, self.picture = at_rest(burst), burst[-1]
        return {name: found[number] for name, number in NUMBERS.items() if number in found}


def hand_tag(model: DroopModel, size: float, side: float = 1.0) -> TagOnLink:
    """Where a tag is glued on the hand's side: its x axis along the line from the last joint to the tool, its face along that
    joint's axis (``side`` 1) or against it; where the hand rolls about that line, along the axis of the joint before at home."""
    arm, turning = model.description, [model.description.joint(name) for name in reversed(model.joints)]
    poses = link_poses(arm, model.servos.home)
    link = poses[turning[0].child]
    line = link.rotation.T @ (poses[arm.tool].position - link.position)
    ahead = line / np.linalg.norm(line)
    axes = (link.rotation.T @ poses[one.child].rotation @ one.axis for one in turning)
    out = next((axis for axis in axes if abs(axis @ ahead) < ALONG_AXIS), np.eye(3)[np.argmin(np.abs(ahead))])
    if abs(turning[0].axis @ ahead) < ALONG_AXIS:  # it turns about that: the line counts across it
        ahead = ahead - (ahead @ turning[0].axis) * turning[0].axis
        ahead /= np.linalg.norm(ahead)
    out = side * (out - (out @ ahead) * ahead)
    out /= np.linalg.norm(out)
    frame = np.stack([ahead, np.cross(out, ahead), out], axis=-1)
    return TagOnLink(turning[0].child, Tag(NUMBERS[HAND], size), frame, HAND_OFF_M * ahead + BESIDE_M * out)


def printed(arm: ArmDescription, measured_m: float = 0.0) -> tuple[float, TagOnLink]:
    """Edge of the hand's tag [m], and the sheet's tag, which the same printer made; ``measured_m``: the former, 0: as printed.

    Raises:
        InputError: no printed tag is so large.
    """
    size = measured_m or HAND_TAG_M
    meant = min(HAND_SIZES_M, key=lambda one: abs(one - size))
    sizes = ", ".join(f"{1e3 * one:.0f}" for one in HAND_SIZES_M)
    why = f"the hand's tag is {1e3 * size:.1f} mm wide, printed are {sizes} mm: was its black square measured?"
    refuse_if(abs(size / meant - 1.0) > PRINTER_SHARE, why, "tag", size, meant)
    return size, sheet_tag(arm, size / meant)


def sheet_tag(arm: ArmDescription, scale: float) -> TagOnLink:
    """The tag on the sheet under the base, ``scale`` times as large as it should be printed."""
    return TagOnLink(arm.root, Tag(BASE.tag.number, scale * BASE.tag.size_m), BASE.rotation, BASE.position)


class Viewer(Looker):
    """Looks at an arm by a camera.

    Args:
        session: of an arm that is enabled, and not compensated; it goes home.
        eye: that looks at it.
        model: from ``begin``.

    Attributes:
        first: where the sheet's tag was seen first (4, 2) [px], by ``SHEET``.
    """

    model: CameraModel

    def __init__(self, session: LocalSession, eye: Eye, model: CameraModel):
        super().__init__(session, model)
        self.eye, self.first = eye, dict[str, np.ndarray]()
        self._servos_say = Stander(session) if self.servos.bus else None
        encoders = self._servos_say.seen if self._servos_say else ()
        corners = (Corner(*one, model.pixel_sd) for one in product((HAND, SHEET), range(CORNERS), range(2)))
        self.seen = (*corners, *encoders)

    def stages(self, weight_kg: float) -> list[tuple[str, float, int]]:
        """First ones, the rest, and those with the weight."""
        loaded = [("loaded", weight_kg, LOADED)] if weight_kg else []
        return [("first", 0.0, FIRST), ("bare", 0.0, BARE), *loaded]

    def stand(self) -> None:
        """Wait until the arm stands."""
        if self._servos_say:
            self._servos_say.stand()
        self.session.spin(SETTLE_S)

    def watch(self) -> None:
        """Look at the arm while it moves, by servos that measure: nothing is seen of it."""
        if self._servos_say:
            self._servos_say.watch()

    def read(self, there: np.ndarray, side: float) -> dict[str, Any]:
        """Come to ``there`` (n,) [rad] from one side, and look: corners (4, 2) [px] of each tag that is seen.

        Raises:
            GoalRefusedError: there is no way.
            PictureError: nothing is seen.
            PickerError: a fault; the cable or the camera is gone; the camera was moved.
        """
        self.come(there, self.leave(there, side))
        seen: dict[str, Any] = {"tags": {name: np.round(one, 3).tolist() for name, one in self.eye.look().items()}}
        return seen | self._servos_say.measure() if self._servos_say else seen

    def readings(self, station: Station, side: float, seen: Mapping[str, Any], visit: int) -> list[Reading]:
        """Readings of a visit: directions of all corners that were seen, and what servos measure."""
        focal, tags, goals = self.model.camera.focal, seen["tags"], seen.get("goals")
        self.check(tags)
        if HAND not in tags:  # the sheet alone tells nothing of the arm
            return []
        values, sensors = list[float](), list[Sensor]()
        for one in self.seen:
            if isinstance(one, Corner) and one.tag in tags:
                sensors.append(one)
                values.append(tags[one.tag][one.corner][one.coordinate] / focal)
            elif isinstance(one, Encoder):
                sensors.append(one)
                values.append(seen["q"][self.arm.joint_names.index(one.joint)])
        pulses = station.pulses_us if goals is None else self.servos.to_pulse_us(np.array(goals))
        return Station(pulses, station.weight, tuple(sensors)).readings(values, visit, side, seen.get("supply", 1.0))

    def check(self, tags: Mapping[str, Any]) -> None:
        """Compare where the sheet's tag is with where it was ``first``.

        Raises:
            CameraError: the camera or the sheet was moved, or the camera focused anew.
        """
        if SHEET not in tags:
            return
        sheet = np.array(tags[SHEET])
        first = self.first.setdefault(SHEET, sheet)
        off = float(np.linalg.norm((sheet - first).mean(axis=0)))
        larger = float(np.linalg.norm(sheet - sheet.mean(axis=0)) / np.linalg.norm(first - first.mean(axis=0))) - 1.0
        anew = "fix it, and begin anew with --restart"
        if abs(larger) > LARGER:
            why = f"the sheet's tag is {larger:+.1%} larger than at first, allowed {LARGER:.1%}: lock the focus; {anew}"
            raise CameraError(why, "camera", larger, LARGER)
        if off > MOVED_PX:
            why = f"the sheet's tag is {off:.1f} px from where it was first, allowed {MOVED_PX:g}: camera or sheet moved; {anew}"
            raise CameraError(why, "camera", off, MOVED_PX)

    def visible(self, q: np.ndarray, found: DroopFit | None) -> bool:
        """Whether the hand's tag faces the camera at ``q`` (n,) [rad], and is in the picture."""
        model = self.model
        camera = model.camera if found is None else model.seen_by(found.unknowns)
        return seen_from(camera, self.arm, model.hand, q)

    def remarks(self, found: DroopFit, weight_kg: float) -> Iterator[str]:
        """What the readings leave open, for a person."""
        if not weight_kg:
            yield "No known mass hung on the arm: stiffness and masses may all be off by the same share (--weight GRAMS tells)."
        scale = found.figure("print", "scale")
        if abs(scale.value) > 2.5 * self.model.spread["print.scale"]:
            larger = "larger" if scale.value > 0.0 else "smaller"
            yield f"The tags seem {100.0 * abs(scale.value):.1f} % {larger} than stated: measure their black squares."
        if found.misfit > 1.3:
            yield (
                f"What was seen scatters {found.misfit:.1f} times as much as it should: is the focus locked, the tag on stiff "
                "card, the camera fixed?"
            )


def seen_from(camera: Camera, arm: ArmDescription, tag: TagOnLink, q: np.ndarray) -> bool:
    """Whether a tag faces a camera at ``q`` (n,) [rad], and is in its picture."""
    placed = tag.placed(link_poses(arm, q)[tag.link])
    middle, out = placed.position, placed.rotation[:, 2]
    away, pixel = camera.position - middle, camera.project(middle)
    inside = (pixel > EDGE_PX).all() and (pixel < np.array([camera.width, camera.height]) - EDGE_PX).all()
    return bool(inside and out @ away > FACES * np.linalg.norm(away))


# -- the first look --------------------------------------------------------------------------------------------------------

DISTANCES_M, AZIMUTHS, HEIGHTS_M = (0.5, 0.9), 16, (0.15, 0.45)
"""From where a camera may look at an arm, for a start."""

FOCAL_SD, TRIES, BEHIND, FITS = 0.15, 8, 1e3, 50.0
"""Of log f of a webcam; starts that are followed; what counts for a corner behind the camera [sd]; the largest cost of a look at
the arm: 1 to 8 are usual, zeros that are 6 degrees off make 20, a hand that is elsewhere 130."""

HAND_PX, SHEET_PX = 15.0, 1.0
"""How far corners may be from where they are drawn, at the first look: the arm's zeros are not known."""


def first_model(
    base: DroopModel,
    seen: Mapping[str, np.ndarray],
    size: tuple[int, int],
    q: np.ndarray,
    tags: tuple[float, TagOnLink],
    measured: bool,
) -> CameraModel:
    """The model for a camera that sees the tags so at the first look.

    Args:
        base: of the droop.
        seen: corners (4, 2) [px] of both tags.
        size: width and height of the picture [px].
        q: (n,) where the arm stands, more or less [rad].
        tags: size of the hand's tag [m]; the sheet's tag.
        measured: the tags were measured.

    Raises:
        PictureError: a tag is not seen, or no camera sees them so.
    """
    for name, where in ((HAND, "hand"), (SHEET, "sheet")):
        if name not in seen:
            raise PictureError(f"the tag on the {where} is not seen: is it in the picture, lit, and large enough?", name)
    hand_size, sheet = tags
    found = [(*_camera(base.description, seen, size, q, hand_tag(base, hand_size, side), sheet), side) for side in (1.0, -1.0)]
    cost, camera, side = min(found, key=lambda one: one[0])
    why = "no camera sees the tags so: are they mixed up, glued the other way, or of another arm?"
    if cost > FITS:
        raise PictureError(why, "camera", cost, FITS)
    return CameraModel(
        base.description, base.servos, base.joints, base.bodies, camera, hand_tag(base, hand_size, side), sheet, measured
    )


def _camera(
    arm: ArmDescription, seen: Mapping[str, np.ndarray], size: tuple[int, int], q: np.ndarray, hand: TagOnLink, sheet: TagOnLink
) -> tuple[float, Camera]:
    """How badly, and from where, a camera sees both tags so."""
    links = link_poses(arm, q)
    points = np.concatenate([tag.placed(links[tag.link]).corners for tag in (hand, sheet)])
    pixels = np.concatenate([seen[HAND], seen[SHEET]])
    sd = np.repeat([HAND_PX, SHEET_PX], CORNERS)[:, None]
    middle = points.mean(axis=0)
    best = np.inf, Camera.looking(*size, FOCAL_SHARE * size[0], middle + [0.8, 0.0, 0.3], middle)

    def off(start: Camera, x: np.ndarray) -> tuple[Camera, np.ndarray, np.ndarray]:
        """The camera, what is off in standard deviations, and the derivatives of that."""
        camera = start.moved(x[:3], x[3:6], np.append(FOCAL_SD * x[6], np.zeros(4)))
        seen_at, _, by_optics, by_pose = camera.linearised(points)
        rates = np.concatenate([by_pose, FOCAL_SD * by_optics[..., :1]], axis=-1) / sd[..., None]
        rows = np.nan_to_num(((seen_at - pixels) / sd).ravel(), nan=BEHIND)
        return camera, np.append(rows, x[6]), np.vstack([np.nan_to_num(rates).reshape(-1, 7), np.eye(7)[6:]])

    starts = []
    for distance, height, turn in product(DISTANCES_M, HEIGHTS_M, 2.0 * np.pi * np.arange(AZIMUTHS) / AZIMUTHS):
        position = middle + [distance * np.cos(turn), distance * np.sin(turn), height - middle[2]]
        starts.append(Camera.looking(*size, FOCAL_SHARE * size[0], position, middle))
    starts.sort(key=lambda start: float(np.square(off(start, np.zeros(7))[1]).sum()))
    for start in starts[:TRIES]:
        solved = least_squares(
            lambda x, start=start: off(start, x)[1],
            np.zeros(7),
            lambda x, start=start: off(start, x)[2],
            loss="soft_l1",
            max_nfev=60,
        )
        if solved.cost < best[0]:
            best = float(solved.cost), off(start, solved.x)[0]
    return best


def begin(
    context: Context,
    estimate: ArmEstimate,
    session: LocalSession,
    eye: Eye,
    tags: tuple[float, TagOnLink],
    measured: bool = False,
) -> Viewer:
    """Take a first look at home, and see that each joint goes the way its servo map says.

    Raises:
        PictureError: a tag is not seen.
        BoardFaultError: a joint does not move, or goes the other way.
    """
    base = sought(estimate.description, estimate.servos)
    home = np.array(estimate.servos.home)
    if (kept := context.known("look")) is None:
        trust(session)
        if (way := float(np.abs(home - session.reference()).max())) > 1e-6:
            session.move_to(max(way / TRAVEL_SPEED, 0.5), home)
        session.spin(SETTLE_S)
        kept = context.note("look", {name: one.tolist() for name, one in eye.look().items()})
    seen = {name: np.array(one) for name, one in kept.items()}
    viewer = Viewer(session, eye, first_model(base, seen, (eye.width, eye.height), home, tags, measured))
    if context.known("signs") is None:
        for j in base.columns:
            _see_that_it_moves(viewer, home, j)
        viewer.travel(home)
        context.note("signs", True)
    return viewer


def _see_that_it_moves(viewer: Viewer, home: np.ndarray, j: int) -> None:
    """Nudge a joint, and see where its tag goes."""
    arm, model, name = viewer.arm, viewer.model, viewer.arm.joint_names[j]
    way = NUDGE if home[j] + NUDGE < arm.upper[j] else -NUDGE
    ends, drawn = list[np.ndarray](), list[np.ndarray]()
    for share in (-0.5, 0.5):
        q = np.array(home)
        q[j] += share * way
        q = np.clip(q, viewer.servos.setpoint_lower, viewer.servos.setpoint_upper)
        viewer.travel(q)
        viewer.stand()
        looked = viewer.eye.look()
        refuse_if(HAND not in looked, f"the tag on the hand is not seen with {name} moved by {NUDGE:g} rad", name)
        pose = link_poses(arm, q)[model.hand.link]
        ends.append(looked[HAND].mean(axis=0))
        drawn.append(model.camera.project(pose.apply(model.hand.position)))
    went, asked = ends[1] - ends[0], drawn[1] - drawn[0]
    share = float(went @ asked / (asked @ asked))
    if abs(share) < STILL:
        why = f"{name} does not move: it went {100.0 * share:.0f} % of what it was sent. Are plug, supply and horn right?"
        raise BoardFaultError(why, name, share, STILL)
    if share < 0.0:
        direction = -viewer.servos.servos[j].direction
        raise BoardFaultError(f"{name} goes the other way: set its direction to {direction:+d} in the servo map", name, share)
