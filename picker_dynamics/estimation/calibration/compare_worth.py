"""What one set of numbers is worth against another: errors of a simulated arm's tip when it is controlled with either."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import JointNamesError
from picker_dynamics.sim.plant import Plant

from .compare import Numbers, joints_of, require_same
from .evaluate import Errors, errors, exact, usual_paths

NO_WORSE_M = 1e-4
"""After may be this much worse than before and still count as no worse [m]: a tenth of what pulse steps make."""


@dataclass(frozen=True)
class Worth:
    """Errors of one true arm that is controlled with either set of numbers; ``floor``: with its own, pulse steps remain."""

    before: Errors
    after: Errors
    floor: Errors | None = None

    @property
    def no_worse(self) -> bool:
        """Median error after is at most that before, at rest and on the way."""
        return all(
            np.median(getattr(self.after, kind)) <= np.median(getattr(self.before, kind)) + NO_WORSE_M
            for kind in ("hold", "tracking")
        )

    def summary(self) -> dict:
        """Medians and worst [mm], by set and kind."""
        sides = {"before": self.before, "after": self.after} | ({"floor": self.floor} if self.floor is not None else {})
        return {
            name: {
                kind: {"median": 1e3 * float(np.median(getattr(one, kind))), "max": 1e3 * float(getattr(one, kind).max())}
                for kind in ("hold", "tracking")
            }
            for name, one in sides.items()
        }


def worth(before: Numbers, after: Numbers, truth: Plant, *, poses: int, seed: int = 1, floor: bool = False) -> Worth:
    """Move the true arm through random poses, controlled with either set.

    Args:
        truth: the arm, hidden errors included.
        poses: how many.
        seed: of the poses.
        floor: also with the true arm's own numbers, as far as a URDF and a servo map can say them; dry friction is not in.
    """
    require_same(before, after)
    if truth.joint_names != before.description.joint_names:
        raise JointNamesError(f"the true arm has the joints {', '.join(truth.joint_names)}, not {joints_of(before)}")
    paths = usual_paths(truth.description, truth.servo_map, poses, seed)
    sides = [(before.description, before.servos), (after.description, after.servos)]
    if floor:
        sides.append(exact(truth, truth.servo_map))
    found = [errors(Plant(truth.description, truth.servo_map, plant_error=truth.error), *side, paths) for side in sides]
    return Worth(*found)
