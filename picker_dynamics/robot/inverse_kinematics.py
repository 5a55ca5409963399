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
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InputError, UnreachableError, refuse_if

from .description import ArmDescription
from .kinematic_tree import cross, joint_frames, point_jacobians, tool_pose
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

NEWTON_ROUNDS, NEWTON_STEP, LAST_STEP, EXACT = 12, 0.5, 3e-5, 1e-9
"""Steps of the search along a path; the longest of them to a pose next to the last, and to a pose of the path [rad, or share of
the chain's length]; and how near the target that pose is, as a share of the length, but for the last step's square."""

NEAR_AXIS = math.cos(math.radians(30.0))
"""A direction this near an axis of the tool's frame is that axis: a frame set off sideways points along its axes all the same."""

STEEP = math.radians(89.9)
"""From this pitch on the tool points straight up or down, and its azimuth says nothing."""


class _Task(NamedTuple):
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
        self._arm, (self._last, self._tool) = description, description.transforms.links[description.tool]
        self._moves = description.transforms.carries[self._last]
        self.columns: tuple[int, ...] = tuple(np.flatnonzero(self._moves).tolist())
        if not self.columns:
            raise InputError(f"no joint of {description.name} moves its tool {description.tool}", description.tool)
        slides, lower, upper = description.slides, description.lower, description.upper
        bounded = np.isfinite(lower) & np.isfinite(upper)
        travel = np.where(slides & bounded & self._moves, upper - lower, 0.0)
        offsets = [*description.transforms.parts[0][list(self.columns[1:])], self._tool]
        self.length = max(float(sum(np.linalg.norm(one[:3, 3]) for one in offsets) + np.nansum(travel)), 1e-3)
        self._scale = np.where(slides, self.length, 1.0)
        self._pointing_joint, self._pointing = self._read_direction(offsets)

    def _read_direction(self, offsets: list[Array]) -> tuple[int, Array]:
        """The joint in whose link the last length leads to the tool, and the tool's direction there."""
        for joint, offset in zip(reversed(self.columns), reversed(offsets)):
            size = float(np.linalg.norm(offset[:3, 3]))
            if size > 1e-6:
                along: Array = offset[:3, 3] / size
                cosines = offset[:3, :3].T @ along  # with the axes of the frame at the end of that length
                nearest = int(np.argmax(np.abs(cosines)))
                if abs(cosines[nearest]) >= NEAR_AXIS:
                    along = math.copysign(1.0, cosines[nearest]) * offset[:3, nearest]
                return joint, along
        return self._last, self._tool[:3, 0]

    def forward(self, q: ArrayLike) -> Array:
        """Tool position, (..., 3) [m], for joint positions q (..., n) [rad or m]."""
        return tool_pose(self._arm, q).position

    def direction(self, q: ArrayLike) -> Array:
        """Unit vector along which the tool points, (..., 3), for joint positions q (..., n) [rad or m]."""
        return joint_frames(self._arm, q)[..., self._pointing_joint, :3, :3] @ self._pointing

    def pitch(self, q: ArrayLike) -> Array:
        """Elevation of the tool's direction, (...) [rad]."""
        d = self.direction(q)
        return np.arctan2(d[..., 2], np.hypot(d[..., 0], d[..., 1]))

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
        task, arm = _task(position_m, pitch_rad, direction), self._arm
        now = self._arm.middle * self._moves if near is None else as_vector("near", near, arm.n)
        start = np.where(self._moves, np.clip(now, arm.lower, arm.upper), now)
        q = self._search(task, start[None], FIRST_ROUNDS)
        tried, good = [q], q[self._found(task, q)]
        for batch in range(BATCHES):
            if len(good):
                break
            q = self._search(task, np.concatenate([q[:1], self._starts(start, batch)]), ROUNDS)
            tried, good = [*tried, q], q[self._found(task, q)]
        if not len(good):
            good = self._nearest_point(task, np.concatenate(tried))
        turned = good + np.where(arm.slides, 0.0, math.tau * np.round((start - good) / math.tau))  # joints that turn on
        candidates = np.where((turned >= arm.lower) & (turned <= arm.upper), turned, good)
        moved = np.abs(candidates - start) / self._scale
        return read_only(candidates[np.lexsort((moved.sum(axis=1), moved.max(axis=1)))[0]])

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
            start: (n,) pose next to the first [rad or m], or (k, n) next to each.
            pitches_rad: (k,) elevations of the tool's direction on the way [rad]; or
            directions: (k, 3) in which it points, unit vectors; None: any.

        Returns:
            As many poses as there are: fewer than asked where the next position cannot be had from the last pose.
        """
        q, found = as_states("start", start, self._arm.n), list[Array]()
        starts = q if q.ndim == 2 else None
        for k, position in enumerate(as_states("positions_m", positions_m, 3)):
            q = q if starts is None else starts[k]
            pitch = None if pitches_rad is None else float(np.asarray(pitches_rad)[k])
            task = _Task(position, pitch, None if directions is None else np.asarray(directions)[k])
            for _ in range(NEWTON_ROUNDS):
                error, jacobian = self._error(task, q)
                step = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + LEAST_DAMPING * np.eye(len(error)), error)
                largest = np.abs(step).max()
                if largest > NEWTON_STEP:
                    return np.array(found).reshape(-1, self._arm.n)
                q = q + step * self._scale
                if largest < LAST_STEP and np.abs(error - jacobian @ step).max() < EXACT:
                    found.append(q)
                    break
            else:
                break
        return np.array(found).reshape(-1, self._arm.n)

    # --- the search -----------------------------------------------------------------------------

    def _starts(self, start: Array, batch: int) -> Array:
        """(STARTS, n) poses over the limits, seeded; of joints that turn on, within a turn of ``start``."""
        span = np.where(self._arm.slides, self.length, math.pi)
        lower, upper = np.maximum(self._arm.lower, start - span), np.minimum(self._arm.upper, start + span)
        lower, upper = (np.where(self._moves, bound, start) for bound in (lower, upper))
        return np.random.default_rng(batch).uniform(lower, upper, (STARTS, start.size))

    def _error(self, task: _Task, q: Array) -> tuple[Array, Array]:
        """Error of the task (..., m) and its Jacobian (..., m, n) at poses (..., n): shares of its length, radians."""
        frames = joint_frames(self._arm, q)
        tip, joint = (frames[..., self._last, :, :] @ self._tool)[..., :3, 3], self._pointing_joint
        linear, angular = point_jacobians(self._arm, frames, (self._last, joint), np.stack([tip, tip], axis=-2))
        error, jacobian = (task.position - tip) / self.length, linear[..., 0, :, :] * (self._scale / self.length)
        if task.pitch is None and task.direction is None:
            return error, jacobian
        d, turning = frames[..., joint, :3, :3] @ self._pointing, angular[..., 1, :, :].swapaxes(-1, -2)
        if task.direction is not None:
            wish, rows = task.direction - d, cross(turning, d[..., None, :]).swapaxes(-1, -2)
        else:  # its elevation changes by turns about the horizontal axis across d
            flat = np.hypot(d[..., 0], d[..., 1])[..., None]
            wish = task.pitch - np.arctan2(d[..., 2:], flat)
            rows = ((turning[..., 0] * d[..., 1:2] - turning[..., 1] * d[..., :1]) / np.maximum(flat, 1e-3))[..., None, :]
        return np.concatenate([error, wish], axis=-1), np.concatenate([jacobian, rows], axis=-2)

    def _search(self, task: _Task, q: Array, rounds: int, calm: float = 0.0) -> Array:
        """Poses (b, n) from starts (b, n); ends where one is found or all have had their rounds.

        ``calm``: damping by so many times the error itself, for targets out of reach: there the chain's curvature, which
        the steps do not know, decides, and it is at most the error's.
        """
        lower, upper = self._arm.lower, self._arm.upper
        for _ in range(rounds):
            error, jacobian = self._error(task, q)
            if self._found(task, q, error).any():
                break
            pull = (jacobian.swapaxes(-1, -2) @ error[..., None])[..., 0]
            blocked = ((q <= lower) & (pull < 0.0)) | ((q >= upper) & (pull > 0.0))
            jacobian, pull = np.where(blocked[..., None, :], 0.0, jacobian), np.where(blocked, 0.0, pull)
            damping = DAMPING * (error * error).sum(axis=-1) + LEAST_DAMPING + calm * np.linalg.norm(error[..., :3], axis=-1)
            square = jacobian.swapaxes(-1, -2) @ jacobian + damping[..., None, None] * np.eye(q.shape[-1])
            step = np.linalg.solve(square, pull[..., None])[..., 0]
            step *= STEP / np.maximum(np.abs(step).max(axis=-1, keepdims=True), STEP)
            q = np.where(self._moves, np.clip(q + step * self._scale, lower, upper), q)
        return q

    def _found(self, task: _Task, q: Array, error: Array | None = None) -> NDArray[np.bool_]:
        """(b,) whether poses (b, n) are what is asked for."""
        error = self._error(task, q)[0] if error is None else error
        off, turned = np.linalg.norm(error[..., :3], axis=-1), np.linalg.norm(error[..., 3:], axis=-1)
        there: NDArray[np.bool_] = (off <= POSITION_M / self.length) & (turned <= ANGLE_RAD)
        return there

    def _nearest_point(self, task: _Task, q: Array) -> Array:
        """The pose (1, n) nearest to a position that none of the poses (b, n) reach, where that is near enough; else an error."""
        off = np.linalg.norm(self.forward(q) - task.position, axis=-1)
        closest = self._search(_Task(task.position), q[np.argsort(off, kind="stable")[:STARTS]], CALM_ROUNDS, 1.0)
        nearest = closest[[int(np.linalg.norm(self.forward(closest) - task.position, axis=-1).argmin())]]
        wanted, there = task.position, self.forward(nearest)[0]
        away = float(np.linalg.norm(there - wanted))
        if away > NEARLY_M:
            raise UnreachableError(
                f"tip target {_mm(wanted)} is out of reach by {away * 1e3:.1f} mm; the nearest point that can be "
                f"reached is {_mm(there)}",
                None,
                float(np.linalg.norm(wanted)),
                float(np.linalg.norm(there)),
            )
        if task.pitch is None and task.direction is None:
            return nearest
        error = self._error(task, q)[0]
        turned = np.where(off <= POSITION_M, np.abs(error[:, 3:]).max(axis=-1), np.inf)
        best = q[int(turned.argmin())] if np.isfinite(turned).any() else nearest[0]
        if task.direction is not None:
            asked, found = (np.round(one, 2) + 0.0 for one in (task.direction, self.direction(best)))
            text = "({:.2f}, {:.2f}, {:.2f})"
            about = f"the tool pointing along {text.format(*asked)}; the nearest direction found there is {text.format(*found)}"
            raise UnreachableError(f"the tip reaches {_mm(wanted)}, but not with {about}", "direction")
        value, limit = float(task.pitch or 0.0), float(self.pitch(best))
        about = f"a pitch of {told(value, 'rad', limit)}; the nearest pitch found there is {told(limit, 'rad', value)}"
        raise UnreachableError(f"the tip reaches {_mm(wanted)}, but not with {about}", None, value, limit)


def _task(position_m: ArrayLike, pitch_rad: float | None, direction: ArrayLike | None) -> _Task:
    """What is asked for, checked; straight up and down are directions, as pitches they would leave the azimuth open."""
    position = as_vector("position_m", position_m, 3)
    if pitch_rad is not None:
        refuse_if(direction is not None, "give a pitch or a direction of the tool, not both", "direction")
        pitch = checked_number("pitch_rad", pitch_rad, "rad")
        said = f"pitch is {math.degrees(pitch):.1f} deg, must be -90 (down) to 90 (up) deg"
        refuse_if(abs(pitch) > 0.5 * math.pi + ANGLE_RAD, said, "pitch_rad", pitch, math.copysign(0.5 * math.pi, pitch))
        if abs(pitch) <= STEEP:
            return _Task(position, pitch)
        direction = (0.0, 0.0, math.copysign(1.0, pitch))
    if direction is None:
        return _Task(position)
    vector = as_vector("direction", direction, 3)
    refuse_if(not vector.any(), "direction is (0, 0, 0): it points nowhere", "direction", 0.0)
    return _Task(position, direction=vector / np.linalg.norm(vector))


def _mm(position_m: Array) -> str:
    return "({:.1f}, {:.1f}, {:.1f}) mm".format(*np.round(1e3 * position_m, 1) + 0.0)
