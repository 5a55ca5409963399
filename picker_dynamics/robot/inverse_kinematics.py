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
        self._axes = np.array([joint.axis for joint in chain])[:, :, None]
        before, parts = np.eye(4), []
        for joint in path:
            before = before @ _transform(joint.rotation, joint.xyz)
            if joint.movable:
                parts.append(before @ _motion(joint.axis, joint.type == "prismatic"))
                before = np.eye(4)
        self._parts, self._tool = np.array(parts).swapaxes(0, 1), before  # T = A + sin q B + (1 - cos q) C + q D of each joint
        travel = np.where(self._slides & np.isfinite(self._upper - self._lower), self._upper - self._lower, 0.0)
        offsets = [np.linalg.norm(one[:3, 3]) for one in (*self._parts[0, 1:], before)]
        self.length = max(float(np.sum(offsets) + travel.sum()), 1e-3)
        self._pointing_joint, self._pointing = self._read_direction()
        self._scale = np.where(self._slides, self.length, 1.0)
        self._turns = (~self._slides & (np.arange(len(chain)) <= self._pointing_joint))[:, None]

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
        q = self._search(task, start[None], FIRST_ROUNDS)
        good, tried = self._found(task, q), [q]
        for batch in range(BATCHES):
            if good.any():
                break
            q = self._search(task, np.concatenate([q[:1], self._starts(start, batch)]), ROUNDS)
            tried.append(q)
            good = self._found(task, q)
        if not good.any():
            q = np.concatenate(tried)
            good = np.zeros(len(q), dtype=bool)
        good |= self._nearly(task, q)
        if not good.any():
            best = np.argsort(np.linalg.norm(self._frames(q)[1] - task.position, axis=-1), kind="stable")[:STARTS]
            closest = self._search(_Task(task.position), q[best], CALM_ROUNDS, 1.0)
            off = np.linalg.norm(self._frames(closest)[1] - task.position, axis=-1)
            nearest = closest[[int(np.argmin(off))]]
            if not self._nearly(task, nearest).any():
                raise self._refusal(task, q, nearest)
            q, good = nearest, np.array([True])
        candidates = np.array([self._nearest_turns(one, start) for one in q[good]])
        moved = np.abs(candidates - start) / self._scale
        pose[list(self.columns)] = candidates[np.lexsort((moved.sum(axis=1), moved.max(axis=1)))[0]]
        return read_only(pose)

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
        pose, columns, found = as_vector("start", start, self.n), list(self.columns), list[Array]()
        q = pose[None, columns]
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
                break
            pose[columns] = q[0]
            found.append(pose.copy())
        return np.array(found).reshape(-1, self.n)

    # --- what is asked --------------------------------------------------------------------------

    def _checked(
        self, position_m: ArrayLike, pitch_rad: float | None, direction: ArrayLike | None, near: ArrayLike | None
    ) -> tuple[_Task, Array]:
        position = as_vector("position_m", position_m, 3)
        bounded = np.isfinite(self._lower) & np.isfinite(self._upper)
        pose, columns = np.zeros(self.n) if near is None else as_vector("near", near, self.n), list(self.columns)
        if near is None:
            pose[columns] = 0.5 * (np.where(bounded, self._lower, 0.0) + np.where(bounded, self._upper, 0.0))
        pose[columns] = np.clip(pose[columns], self._lower, self._upper)
        if pitch_rad is not None:
            if direction is not None:
                raise InputError("give a pitch or a direction of the tool, not both", "direction")
            pitch = checked_number("pitch_rad", pitch_rad, "rad")
            if abs(pitch) > 0.5 * math.pi + ANGLE_RAD:
                said = f"pitch is {math.degrees(pitch):.1f} deg, must be -90 (down) to 90 (up) deg"
                raise InputError(said, "pitch_rad", pitch, math.copysign(0.5 * math.pi, pitch))
            if abs(pitch) <= STEEP:
                return _Task(position, pitch), pose
            direction = (0.0, 0.0, math.copysign(1.0, pitch))
        if direction is None:
            return _Task(position), pose
        vector = as_vector("direction", direction, 3)
        if not vector.any():
            raise InputError("direction is (0, 0, 0): it points nowhere", "direction", 0.0)
        return _Task(position, direction=vector / np.linalg.norm(vector)), pose

    def _starts(self, start: Array, batch: int) -> Array:
        """(STARTS, k) poses over the limits, seeded; of joints that turn on, within a turn of ``start``."""
        span = np.where(self._slides, self.length, math.pi)
        lower, upper = np.maximum(self._lower, start - span), np.minimum(self._upper, start + span)
        return np.random.default_rng(batch).uniform(lower, upper, (STARTS, start.size))

    def _nearest_turns(self, q: Array, start: Array) -> Array:
        """``q`` plus whole turns, nearest to ``start`` within the limits."""
        turned = q + np.where(self._slides, 0.0, math.tau * np.round((start - q) / math.tau))
        return np.where((turned >= self._lower) & (turned <= self._upper), turned, q)

    # --- the chain ------------------------------------------------------------------------------

    def _frames(self, q: Array) -> tuple[Array, Array]:
        """Frames of the joints' links (..., k, 4, 4) and the tool's position (..., 3)."""
        angle = q[..., None, None]
        constant, sin, versine, slide = self._parts
        frames: Array = constant + np.sin(angle) * sin + (1.0 - np.cos(angle)) * versine + angle * slide
        for i in range(1, len(self.columns)):
            np.matmul(frames[..., i - 1, :, :], frames[..., i, :, :], out=frames[..., i, :, :])
        last = frames[..., -1, :, :]
        return frames, last[..., :3, :3] @ self._tool[:3, 3] + last[..., :3, 3]

    def _points(self, frames: Array) -> Array:
        pointing: Array = frames[..., self._pointing_joint, :3, :3] @ self._pointing
        return pointing

    def _read_direction(self) -> tuple[int, Array]:
        """The link, by its joint in the chain, whose last length leads to the tool, and the tool's direction in it."""
        last = len(self.columns) - 1
        for back, offset in enumerate([self._tool, *self._parts[0, :0:-1]]):
            size = float(np.linalg.norm(offset[:3, 3]))
            if size > 1e-6:
                along: Array = offset[:3, 3] / size
                cosines = offset[:3, :3].T @ along  # with the axes of the frame at the end of that length
                nearest = int(np.argmax(np.abs(cosines)))
                if abs(cosines[nearest]) >= NEAR_AXIS:
                    along = math.copysign(1.0, cosines[nearest]) * offset[:3, nearest]
                return last - back, along
        return last, self._tool[:3, 0]

    # --- the search -----------------------------------------------------------------------------

    def _error(self, task: _Task, q: Array) -> tuple[Array, Array]:
        """Error of the task (b, m) and its Jacobian (b, m, k) at poses (b, k): lengths as shares of the chain's, and radians."""
        frames, tip = self._frames(q)
        axes = (frames[..., :3, :3] @ self._axes)[..., 0]
        turning = _cross(axes, tip[..., None, :] - frames[..., :3, 3])
        jacobian = np.where(self._slides[:, None], axes, turning / self.length)
        error = (task.position - tip) / self.length
        if task.pitch is None and task.direction is None:
            return error, jacobian.swapaxes(-1, -2)
        d, turning = self._points(frames), axes * self._turns
        if task.direction is not None:
            wish, rows = task.direction - d, _cross(turning, d[..., None, :])
        else:  # its elevation changes by turns about the horizontal axis across d
            flat = np.hypot(d[..., 0], d[..., 1])[..., None]
            wish = task.pitch - np.arctan2(d[..., 2:], flat)
            rows = turning[..., :1] * d[..., None, 1:2] - turning[..., 1:2] * d[..., None, :1]
            rows = rows / np.maximum(flat, 1e-3)[..., None]
        return np.concatenate([error, wish], axis=-1), np.concatenate([jacobian, rows], axis=-1).swapaxes(-1, -2)

    def _search(self, task: _Task, q: Array, rounds: int, calm: float = 0.0) -> Array:
        """Poses (b, k) from starts (b, k); ends where one is found or all have had their rounds.

        ``calm``: damping by so many times the error itself, for targets out of reach: there the chain's curvature, which
        the steps do not know, decides, and it is at most the error's.
        """
        one, lower, upper = np.eye(q.shape[-1]), self._lower, self._upper
        for _ in range(rounds):
            error, jacobian = self._error(task, q)
            if self._are_found(error).any():
                break
            pull = (jacobian.swapaxes(-1, -2) @ error[..., None])[..., 0]
            blocked = ((q <= lower) & (pull < 0.0)) | ((q >= upper) & (pull > 0.0))
            jacobian, pull = np.where(blocked[..., None, :], 0.0, jacobian), np.where(blocked, 0.0, pull)
            damping = DAMPING * (error * error).sum(axis=-1) + LEAST_DAMPING + calm * np.linalg.norm(error[..., :3], axis=-1)
            square = jacobian.swapaxes(-1, -2) @ jacobian + damping[..., None, None] * one
            step = np.linalg.solve(square, pull[..., None])[..., 0]
            step *= STEP / np.maximum(np.abs(step).max(axis=-1, keepdims=True), STEP)
            q = np.minimum(np.maximum(q + step * self._scale, lower), upper)
        return q

    def _are_found(self, error: Array) -> NDArray[np.bool_]:
        """(b,) whether errors are within what counts as found."""
        off, turned = np.linalg.norm(error[..., :3], axis=-1), np.linalg.norm(error[..., 3:], axis=-1)
        there: NDArray[np.bool_] = (off <= POSITION_M / self.length) & (turned <= ANGLE_RAD)
        return there

    def _found(self, task: _Task, q: Array) -> NDArray[np.bool_]:
        """(b,) whether poses (b, k) are what is asked for."""
        return self._are_found(self._error(task, q)[0])

    def _nearly(self, task: _Task, q: Array) -> NDArray[np.bool_]:
        """(b,) whether poses (b, k) are ``NEARLY_M`` from a position for which no direction is asked."""
        off = np.linalg.norm(self._frames(q)[1] - task.position, axis=-1)
        near: NDArray[np.bool_] = (off <= NEARLY_M) & (task.pitch is None and task.direction is None)
        return near

    def _refusal(self, task: _Task, q: Array, nearest: Array) -> UnreachableError:
        """Why none of the poses (b, k) will do; the tool of ``nearest`` (1, k) is closest to the position."""
        wanted, there = task.position, self._frames(nearest)[1][0]
        off = float(np.linalg.norm(there - wanted))
        if off > NEARLY_M:
            return UnreachableError(
                f"tip target {_mm(wanted)} is out of reach by {off * 1e3:.1f} mm; the nearest point that can be "
                f"reached is {_mm(there)}",
                None,
                float(np.linalg.norm(wanted)),
                float(np.linalg.norm(there)),
            )
        error = self._error(task, q)[0]
        turned = np.where(
            np.linalg.norm(error[:, :3], axis=-1) <= POSITION_M / self.length, np.abs(error[:, 3:]).max(axis=-1), np.inf
        )
        best = q[[int(np.argmin(turned))]] if np.isfinite(turned).any() else nearest
        points = self._points(self._frames(best)[0])[0]
        if task.pitch is None:
            asked, found = f"the tool pointing along {_text(task.direction)}", f"direction found there is {_text(points)}"
            value = limit = None
        else:
            value, limit = task.pitch, float(_elevation(points))
            asked = f"a pitch of {told(value, 'rad', limit)}"
            found = f"pitch found there is {told(limit, 'rad', value)}"
        subject = None if task.direction is None else "direction"
        return UnreachableError(
            f"the tip reaches {_mm(wanted)}, but not with {asked}; the nearest {found}", subject, value, limit
        )


def _transform(rotation: Array, xyz: Array) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, xyz
    return matrix


def _motion(axis: Array, slides: bool) -> Array:
    """1, and the parts of a joint's motion that grow with sin q, 1 - cos q and q, (4, 4, 4)."""
    parts = np.zeros((4, 4, 4))
    parts[0] = np.eye(4)
    if slides:
        parts[3, :3, 3] = axis
    else:
        x, y, z = axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        parts[1, :3, :3], parts[2, :3, :3] = cross, cross @ cross
    return parts


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
