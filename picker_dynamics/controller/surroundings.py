"""Surroundings of an arm: the shapes of its scene file, those added as it runs, and the check that keeps motions clear."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from picker_dynamics.errors import PickerError
from picker_dynamics.execution.checks import Check
from picker_dynamics.execution.collision import CollisionCheck, FloorCheck, collision_check
from picker_dynamics.robot.description import ArmDescription, Geometry
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.scene import Scene, read_scene, require_few
from picker_dynamics.robot.servo_map import ServoMap


class Surroundings:
    """Checks of floor and scene; where collisions are not looked at, the floor alone.

    Args:
        arm, servos: the arm; servos None: its joints are measured.
        poses: (n,) each, at which its links may be as close as they are.
        enabled: whether collisions are looked at; a scene file enables them.
        scene: file; '' for none.
        deceleration: with which a stream is brought to rest [rad/s²].

    Attributes:
        added: shapes beside the file's, by name.
        droops: nothing makes up for the servos' springs.
        changed: called when the check is another one; may refuse that by a PickerError.
        shown: called with the whole scene when that is another one.
    """

    def __init__(
        self,
        arm: ArmDescription,
        servos: ServoMap | None,
        poses: Sequence[Array],
        deceleration: float,
        *,
        enabled: bool = False,
        scene: str = "",
    ):
        self.arm, self._servos, self._poses, self._deceleration = arm, servos, poses, deceleration
        self.enabled = enabled or bool(scene)
        self._of_file: Scene = read_scene(scene, arm.root) if scene else {}
        self.added: dict[str, Geometry] = {}
        self.droops = servos is not None
        self._check: CollisionCheck | None = None
        self._check_of: tuple[float, Mapping[str, Geometry]] | None = None
        self.changed: Callable[[], None] = lambda: None
        self.shown: Callable[[Scene], None] = lambda _scene: None

    def check(self, floor_z: float, margin_m: float) -> Check:
        """Return the check for this floor and margin; the same one as long as nothing changes.

        Raises:
            InputError, DescriptionError, MissingDependencyError: as ``collision_check``.
        """
        if not self.enabled:
            return FloorCheck(self.arm, floor_z, self._deceleration)
        if self._check is None or self._check_of is None or self._check_of[0] != floor_z or self._check_of[1] is not self.added:
            self._check = collision_check(
                self.arm,
                self.scene,
                floor_z,
                self._poses,
                margin_m=margin_m,
                deceleration=self._deceleration,
                servos=self._servos,
                droops=self.droops,
            )
            self._check_of = floor_z, self.added
            self.shown(self.scene)
        elif (self._check.margin_m, self._check.droops) != (margin_m, self.droops):
            self._check = replace(self._check, margin_m=margin_m, droops=self.droops)
        return self._check

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the arm's shapes."""
        return self._check.collision.notes if self._check is not None else ()

    @property
    def scene(self) -> Scene:
        return {**self._of_file, **self.added}

    def add(self, shapes: Mapping[str, Geometry]) -> None:
        """Replace the shapes that were added as the arm runs.

        Raises:
            PickerError: too many, or no check can be made of them; everything is as before then.
        """
        require_few(len({**self._of_file, **shapes}), "collision_scene")
        self._change(added=dict(shapes))

    def set_droops(self, droops: bool) -> None:
        """Take whether the arm hangs lower, by what its servos give way; errors as for ``add``."""
        if droops != self.droops:
            self._change(droops=droops)

    def _change(self, **new: Any) -> None:
        before = dict(vars(self))
        vars(self).update(new)
        try:
            self.changed()
        except PickerError:
            vars(self).update(before)
            raise
