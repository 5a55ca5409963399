"""Inverse kinematics of any serial chain within its joint limits, by damped least squares from several starts.

With e the error of the task and J its Jacobian, both in units of the chain's length and of radians, joints that stand at a
limit and are pulled beyond it held there:

    dq = (Jᵀ J + λ 1)⁻¹ Jᵀ e,    λ = c eᵀ e + ε          Levenberg-Marquardt; fast near the target, calm far from it

(T. Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method, 2011.)  The task is the position of
the tool and, where asked for, of the *tool's direction* d either its elevation (pitch) or all of it.  d points along the last
length of the chain, from its joint to the tool, or along the axis of the tool's frame that is near that.

The present pose is the first start; where it leads to the target, that is the answer, a pose near the present one.  Otherwise
its search goes on beside seeded starts over the limits, and of the poses that they find the nearest counts: at the edge of what
can be reached the last steps are short, and 0.1 mm is near enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InputError, UnreachableError

from .description import ArmDescription
from .model import Array, as_states, as_vector, checked_number, read_only
from .units import told

POSITION_M, ANGLE_RAD = 1e-5, 1e-4
"""How near the target a pose is that counts as found."""

NEARLY_M = 1.0e-4
"""A target this far from what can be reached is reached: a point typed with four digits, for an arm of two joints."""

FIRST_ROUNDS, ROUNDS, CALM_ROUNDS = 16, 30, 150
"""Steps of the search from the present pose, from others, and for the nearest point where none reaches the target."""

STARTS, BATCHES = 24, 4
"""Starts that search side by side, and how many such batches before a target counts as out of reach."""

STEP = 1.2
"""Longest step of a joint [rad, or share of the chain's length]."""

DAMPING, LEAST_DAMPING = 0.02, 1e-10
"""c and ε: of 0.004 to 0.5 this c ends soonest, on arms of five to seven joints."""

NEWTON_ROUNDS, NEWTON_STEP, EXACT = 12, 0.5, 1e-9
"""Steps of the search along a path, the longest of them that leads to a pose next to the last [rad, or share of the chain's
length], and how near the target a pose of the path is, as a share of that length."""

NEAR_AXIS = math.cos(math.radians(30.0))
"""A direction this near an axis of the tool's frame is that axis: a frame set off sideways points along its axes all the same."""

STEEP = math.radians(89.9)
"""From this pitch on the tool points straight up or down, and its azimuth says nothing."""


@dataclass(frozen=True)
class _Task:
    """What is asked for: tool position (3,) [m], elevation of its direction [rad] or the whole of it (3,); None: any."""

    position: Array
    pitch: float | None = None
    direction: Array | None = None


class ChainKinematics:
    """Forward and inverse kinematics of the joints on the way from the root to the tool; others stay where they are.

    All positions are in the root frame.

    Args:
        description: the arm.

    Raises:
        InputError: no joint moves the tool.

    Attributes:
        columns: indices of the chain's joints in every joint vector.
        length: of the chain, joint by joint, a sliding joint's travel included [m].
    """

    def __init__(self, description: ArmDescription):
        path = description.path_to(description.tool)
        chain = [joint for joint in path if joint.movable]
        if not chain:
            raise InputError(f"no joint of {description.name} moves its tool {description.tool}", description.tool)
        self.joint_names, self.n = description.joint_names, description.n
        self.columns = tuple(self.joint_names.index(joint.name) for joint in chain)
        self._slides = np.array([joint.type == "prismatic" for joint in chain])
        self._lower, self._upper = np.array([j.lower for j in chain]), np.array([j.upper for j in chain])
        self._units = tuple("m" if slides else "rad" for slides in self._slides)
        before = np.eye(4)
        constants, turning, sliding = [], [], []
        for joint in path:  # T = before (A + sin q B + (1 - cos q) C + q D), for each joint
            before = before @ _transform(joint.rotation, joint.xyz)
            if joint.movable:
                x, y, z = joint.axis
                cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
                slides = joint.type == "prismatic"
                wide = np.zeros((3, 4, 4))
                if slides:
                    wide[2, :3, 3] = joint.axis
                else:
                    wide[0, :3, :3], wide[1, :3, :3] = cross, cross @ cross
                constants.append(before)
                turning.append(before @ wide[:2])
                sliding.append(before @ wide[2])
                before = np.eye(4)
        self._constant, self._tool = np.array(constants), before
        self._sin, self._versine = np.array(turning).swapaxes(0, 1)
        self._slide, self._any_slides = np.array(sliding), bool(self._slides.any())
        self._axes = np.array([joint.axis for joint in chain])[:, :, None]
        travel = np.where(self._slides & np.isfinite(self._upper - self._lower), self._upper - self._lower, 0.0)
        offsets = [float(np.linalg.norm(one[:3, 3])) for one in (*constants[1:], before)]
        self.length = max(sum(offsets) + float(travel.sum()), 1e-3)
        self._pointing_joint, self._pointing = self._read_direction()
        self._scale = np.where(self._slides, self.length, 1.0)
        turns = ~self._slides & (np.arange(len(chain)) <= self._pointing_joint)
        self._turns = None if turns.all() else turns[:, None].astype(float)

    # --- forwards -------------------------------------------------------------------------------

    def forward(self, q: ArrayLike) -> Array:
        """Tool position, (..., 3) [m], for joint positions q (..., n) [rad or m]."""
        return self._frames(as_states("q", q, self.n)[..., self.columns])[1]

    def direction(self, q: ArrayLike) -> Array:
        """Unit vector along which the tool points, (..., 3), for joint positions q (..., n) [rad or m]."""
        return self._points(self._frames(as_states("q", q, self.n)[..., self.columns])[0])

    def pitch(self, q: ArrayLike) -> Array:
        """Elevation of the tool's direction, (...) [rad]."""
        return _elevation(self.direction(q))

    # --- backwards ------------------------------------------------------------------------------

    def inverse(
        self,
        position_m: ArrayLike,
        *,
        pitch_rad: float | None = None,
        direction: ArrayLike | None = None,
        near: ArrayLike | None = None,
    ) -> Array:
        """Joint positions within their limits that put the tool at ``position_m``, with that pitch or direction.

        Args:
            position_m: (3,) tool position [m].
            pitch_rad: elevation of the tool's direction, -pi/2 (down) to pi/2 [rad]; None: any.
            direction: (3,) in which the tool is to point, of any length; None: any.
            near: (n,) present joint positions [rad or m]; default the middle of the limits.

        Returns:
            (n,) [rad or m], read-only.

        Raises:
            InputError: both pitch and direction, or a pitch or direction that is none.
            UnreachableError: out of reach; names the nearest point or pitch that is not (value and limit: asked for and
                nearest, as distance from the root [m] or pitch [rad]).
        """
        task, pose = self._checked(position_m, pitch_rad, direction, near)
        start = pose[list(self.columns)]
        q, error = self._search(task, start[None], FIRST_ROUNDS)
        if self._found(*self._squares(error))[0]:
            return self._answer(pose, q[0])
        tried, errors = [q], [error]
        for batch in range(BATCHES):
            q, error = self._search(task, np.concatenate([tried[-1][:1], self._starts(start, batch)]), ROUNDS)
            found = self._found(*self._squares(error))
            if found.any():
                return self._answer(pose, self._nearest(q[found | self._nearly(task, q)], start))
            tried.append(q)
            errors.append(error)
        q, error = np.concatenate(tried), np.concatenate(errors)
        nearly = self._nearly(task, q)
        if nearly.any():
            return self._answer(pose, self._nearest(q[nearly], start))
        closest = self._closest(task, q, error)
        reached = self._answer(pose.copy(), closest)
        if self._nearly(task, closest):
            return reached
        off = float(np.linalg.norm(self.forward(reached) - task.position))
        raise self._refusal(task, pose, q, error, reached, off)

    def along(
        self,
        positions_m: ArrayLike,
        start: ArrayLike,
        *,
        pitches_rad: ArrayLike | None = None,
        directions: ArrayLike | None = None,
    ) -> Array:
        """Joint positions (k, n) with which the tool goes along ``positions_m`` (k, 3) [m], each pose next to the one before.

        Each is the end of Newton's steps of least length from the one before, limits aside: joints that the task leaves free
        move no more than they have to.

        Args:
            start: (n,) pose next to the first [rad or m].
            pitches_rad: (k,) elevations of the tool's direction on the way [rad]; or
            directions: (k, 3) in which it points, unit vectors; None: any.

        Returns:
            As many poses as there are: fewer than asked where the next position cannot be had from the last pose.
        """
        positions = as_states("positions_m", positions_m, 3)
        pose = as_vector("start", start, self.n)
        q, columns, found = pose[None, list(self.columns)], list(self.columns), list[Array]()
        for k, position in enumerate(positions):
            pitch = None if pitches_rad is None else float(np.asarray(pitches_rad)[k])
            task = _Task(position, pitch, None if directions is None else np.asarray(directions)[k])
            for _ in range(NEWTON_ROUNDS):
                error, jacobian = self._error(task, q)
                if np.abs(error).max() < EXACT:
                    break
                transposed = jacobian.swapaxes(-1, -2)
                square = jacobian @ transposed + LEAST_DAMPING * np.eye(error.shape[-1])
                step = (transposed @ np.linalg.solve(square, error[..., None]))[..., 0]
                if np.abs(step).max() > NEWTON_STEP:
                    return np.array(found).reshape(-1, self.n)
                q = q + step * self._scale
            else:
                return np.array(found).reshape(-1, self.n)
            pose[columns] = q[0]
            found.append(pose.copy())
        return np.array(found).reshape(-1, self.n)

    # --- pieces: what is asked --------------------------------------------------------------------

    def _checked(
        self, position_m: ArrayLike, pitch_rad: float | None, direction: ArrayLike | None, near: ArrayLike | None
    ) -> tuple[_Task, Array]:
        position = as_vector("position_m", position_m, 3)
        lower, upper = self._lower, self._upper
        middle = np.where(np.isfinite(lower) & np.isfinite(upper), 0.5 * (np.maximum(lower, -1e9) + np.minimum(upper, 1e9)), 0.0)
        pose = np.zeros(self.n) if near is None else as_vector("near", near, self.n)
        columns = list(self.columns)
        pose[columns] = np.clip(middle if near is None else pose[columns], lower, upper)
        if pitch_rad is not None and direction is not None:
            raise InputError("give a pitch or a direction of the tool, not both", "direction")
        if pitch_rad is not None:
            pitch = checked_number("pitch_rad", pitch_rad, "rad")
            if abs(pitch) > 0.5 * math.pi + ANGLE_RAD:
                raise InputError(
                    f"pitch is {math.degrees(pitch):.1f} deg, must be -90 (down) to 90 (up) deg",
                    "pitch_rad",
                    pitch,
                    math.copysign(0.5 * math.pi, pitch),
                )
            if abs(pitch) > STEEP:
                return _Task(position, direction=np.array([0.0, 0.0, math.copysign(1.0, pitch)])), pose
            return _Task(position, pitch), pose
        if direction is not None:
            vector = as_vector("direction", direction, 3)
            size = float(np.linalg.norm(vector))
            if size == 0.0:
                raise InputError("direction is (0, 0, 0): it points nowhere", "direction", 0.0)
            return _Task(position, direction=vector / size), pose
        return _Task(position), pose

    def _nearly(self, task: _Task, q: Array) -> NDArray[np.bool_]:
        """(...) whether poses (..., k) are ``NEARLY_M`` from a position for which no direction is asked."""
        off = np.linalg.norm(self._frames(q)[1] - task.position, axis=-1)
        near: NDArray[np.bool_] = (off <= NEARLY_M) & (task.pitch is None and task.direction is None)
        return near

    def _nearest(self, found: Array, start: Array) -> Array:
        """Of poses (s, k) the one whose joints move least, the farthest of them first."""
        candidates = np.array([self._nearest_turns(one, start) for one in found])
        moved = np.abs(candidates - start) / self._scale
        nearest: Array = candidates[np.lexsort((moved.sum(axis=1), moved.max(axis=1)))[0]]
        return nearest

    def _starts(self, start: Array, batch: int) -> Array:
        """(STARTS, k) poses over the limits, seeded; of joints that turn on, within a turn of ``start``."""
        span = np.where(self._slides, self.length, math.pi)
        lower, upper = np.maximum(self._lower, start - span), np.minimum(self._upper, start + span)
        return np.random.default_rng(batch).uniform(lower, upper, (STARTS, start.size))

    def _nearest_turns(self, q: Array, start: Array) -> Array:
        """``q`` plus whole turns, nearest to ``start`` within the limits."""
        turned = q + np.where(self._slides, 0.0, math.tau * np.round((start - q) / math.tau))
        return np.where((turned >= self._lower) & (turned <= self._upper), turned, q)

    def _answer(self, pose: Array, q: Array) -> Array:
        pose[list(self.columns)] = q
        return read_only(pose)

    # --- pieces: the chain ------------------------------------------------------------------------

    def _frames(self, q: Array) -> tuple[Array, Array]:
        """Frames of the joints' links (..., k, 4, 4) and the tool's position (..., 3)."""
        angle = q[..., None, None]
        frames: Array = self._constant + np.sin(angle) * self._sin + (1.0 - np.cos(angle)) * self._versine
        if self._any_slides:
            frames += angle * self._slide
        for i in range(1, len(self.columns)):
            np.matmul(frames[..., i - 1, :, :], frames[..., i, :, :], out=frames[..., i, :, :])
        last = frames[..., -1, :, :]
        return frames, last[..., :3, :3] @ self._tool[:3, 3] + last[..., :3, 3]

    def _points(self, frames: Array) -> Array:
        pointing: Array = frames[..., self._pointing_joint, :3, :3] @ self._pointing
        return pointing

    def _read_direction(self) -> tuple[int, Array]:
        """The link, by its joint in the chain, whose last length leads to the tool, and the tool's direction in it."""
        origins = [self._tool, *self._constant[:0:-1]]
        sizes = [float(np.linalg.norm(offset[:3, 3])) for offset in origins]
        back = next((i for i, size in enumerate(sizes) if size > 1e-6), None)
        if back is None:
            return len(self.columns) - 1, self._tool[:3, 0]
        joint, offset, size = len(self.columns) - 1 - back, origins[back], sizes[back]
        along: Array = offset[:3, 3] / size
        cosines = offset[:3, :3].T @ along  # with the axes of the frame at the end of that length
        nearest = int(np.argmax(np.abs(cosines)))
        if abs(cosines[nearest]) >= NEAR_AXIS:
            along = math.copysign(1.0, cosines[nearest]) * offset[:3, nearest]
        return joint, along

    # --- pieces: the search -----------------------------------------------------------------------

    def _error(self, task: _Task, q: Array) -> tuple[Array, Array]:
        """Error of the task (b, m) and its Jacobian (b, m, k) at poses (b, k): lengths as shares of the chain's, and radians."""
        frames, tip = self._frames(q)
        axes = (frames[..., :3, :3] @ self._axes)[..., 0]
        linear = _cross(axes, tip[..., None, :] - frames[..., :3, 3])
        if self._any_slides:
            linear = np.where(self._slides[:, None], axes * self.length, linear)
        jacobian, error = linear / self.length, (task.position - tip) / self.length
        if task.pitch is None and task.direction is None:
            return error, jacobian.swapaxes(-1, -2)
        d = self._points(frames)
        turning = axes if self._turns is None else axes * self._turns
        if task.direction is not None:
            wish, rows = task.direction - d, _cross(turning, d[..., None, :])
        else:  # its elevation changes by turns about the horizontal axis across d
            flat = np.hypot(d[..., 0], d[..., 1])[..., None]
            wish = task.pitch - np.arctan2(d[..., 2:], flat)
            rows = turning[..., :1] * d[..., None, 1:2] - turning[..., 1:2] * d[..., None, :1]
            rows = rows / np.maximum(flat, 1e-3)[..., None]
        return np.concatenate([error, wish], axis=-1), np.concatenate([jacobian, rows], axis=-1).swapaxes(-1, -2)

    def _search(self, task: _Task, q: Array, rounds: int, calm: float = 0.0) -> tuple[Array, Array]:
        """Poses (b, k) from starts (b, k) and their errors (b, m); ends where one is found or all have had their rounds.

        ``calm``: damping by so many times the error itself, for targets out of reach: there the chain's curvature, which
        the steps do not know, decides, and it is at most the error's.
        """
        one, lower, upper = np.eye(q.shape[-1]), self._lower, self._upper
        for _ in range(rounds):
            error, jacobian = self._error(task, q)
            off, turned = self._squares(error)
            if self._found(off, turned).any():
                break
            transposed = jacobian.swapaxes(-1, -2)
            pull = (transposed @ error[..., None])[..., 0]
            blocked = ((q <= lower) & (pull < 0.0)) | ((q >= upper) & (pull > 0.0))
            if blocked.any():
                jacobian, pull = np.where(blocked[..., None, :], 0.0, jacobian), np.where(blocked, 0.0, pull)
                transposed = jacobian.swapaxes(-1, -2)
            damping = DAMPING * (off + turned) + LEAST_DAMPING
            if calm:
                damping += calm * np.sqrt(off)
            step = np.linalg.solve(transposed @ jacobian + damping[..., None, None] * one, pull[..., None])[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True)
            if (longest > STEP).any():
                step *= STEP / np.maximum(longest, STEP)
            q = np.minimum(np.maximum(q + step * self._scale, lower), upper)
        else:
            error = self._error(task, q)[0]
        return q, error

    def _squares(self, error: Array) -> tuple[Array, Array]:
        """Squares (b,) of the errors of position and of direction."""
        squares = error * error
        return squares[..., :3].sum(axis=-1), squares[..., 3:].sum(axis=-1)

    def _found(self, off: Array, turned: Array) -> NDArray[np.bool_]:
        """(b,) whether squares of errors are within what counts as found."""
        there: NDArray[np.bool_] = (off <= (POSITION_M / self.length) ** 2) & (turned <= ANGLE_RAD**2)
        return there

    # --- pieces: what is not there ------------------------------------------------------------------

    def _closest(self, task: _Task, q: Array, error: Array) -> Array:
        """Of poses (b, k) with errors (b, m) the one whose tool is nearest to the position, brought nearer still."""
        best = np.argsort(self._squares(error)[0], kind="stable")[:STARTS]
        refined, errors = self._search(_Task(task.position), q[best], CALM_ROUNDS, 1.0)
        nearest: Array = refined[int(np.argmin(self._squares(errors)[0]))]
        return nearest

    def _refusal(self, task: _Task, pose: Array, q: Array, error: Array, reached: Array, off: float) -> UnreachableError:
        """Why none of the poses (b, k) with errors (b, m) will do; ``reached`` is nearest to the position, ``off`` by so much."""
        wanted, there = task.position, self.forward(reached)
        if off > NEARLY_M:
            return UnreachableError(
                f"tip target {_mm(wanted)} is out of reach by {off * 1e3:.1f} mm; the nearest point that can be "
                f"reached is {_mm(there)}",
                None,
                float(np.linalg.norm(wanted)),
                float(np.linalg.norm(there)),
            )
        position, turned = self._squares(error)
        turned = np.where(position <= (POSITION_M / self.length) ** 2, turned, np.inf)
        if np.isfinite(turned).any():
            reached = self._answer(pose.copy(), q[int(np.argmin(turned))])
        points = self.direction(reached)
        if task.pitch is not None:
            wish, found = task.pitch, float(_elevation(points))
            return UnreachableError(
                f"the tip reaches {_mm(wanted)}, but not with a pitch of {told(wish, 'rad', found)}; the nearest pitch found "
                f"there is {told(found, 'rad', wish)}",
                None,
                wish,
                found,
            )
        return UnreachableError(
            f"the tip reaches {_mm(wanted)}, but not with the tool pointing along {_text(task.direction)}; the nearest "
            f"direction found there is {_text(points)}",
            "direction",
        )


def _transform(rotation: Array, xyz: Array) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, xyz
    return matrix


def _cross(a: Array, b: Array) -> Array:
    """a × b along the last axis; np.cross takes three times as long for few of them."""
    crossed: Array = a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]]
    return crossed


def _elevation(d: Array) -> Array:
    elevation: Array = np.arctan2(d[..., 2], np.hypot(d[..., 0], d[..., 1]))
    return elevation


def _mm(position_m: ArrayLike) -> str:
    return "({:.1f}, {:.1f}, {:.1f}) mm".format(*np.round(1e3 * np.asarray(position_m, dtype=float), 1) + 0.0)


def _text(direction: ArrayLike | None) -> str:
    return "({:.2f}, {:.2f}, {:.2f})".format(*np.round(np.asarray(direction, dtype=float), 2) + 0.0)
