"""What the tests of identification share: an arm with hidden numbers, measured along a motion that was chosen for it."""

import functools
from dataclasses import dataclass

import numpy as np
from arm_fixtures import shipped_arm

from picker_dynamics.estimation.identification import base, inertia, limits, procedure, simulated
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.excitation import Excitation, Search
from picker_dynamics.robot import description

TIP_SPEED = 2.0
ARM = "three_link"


@dataclass(frozen=True, eq=False)
class IdentificationCase:
    """``run`` is to be fitted, ``other`` to be predicted."""

    believed: description.ArmDescription
    truth: description.ArmDescription
    columns: Columns
    search: Search
    excitation: Excitation
    run: simulated.Run
    other: simulated.Run


@functools.cache
def bench(name: str = ARM, seed: int = 1) -> IdentificationCase:
    """Made once."""
    believed = shipped_arm(name).description
    columns = Columns.of(believed)
    search = Search(base.find(columns), limits.of_options(name, believed, TIP_SPEED), 10.0)
    motion, other = (search.run(shipped_arm(name).home, one, drawn=30, bettered=150) for one in (0, 1))
    truth = simulated.hidden(believed, seed, TIP_SPEED)
    return IdentificationCase(
        believed,
        truth,
        columns,
        search,
        motion,
        *(simulated.run(truth, believed, one.motion, seed + i) for i, one in enumerate((motion, other))),
    )


@functools.cache
def found(name: str = ARM) -> procedure.Identified:
    """The arm identified from ``bench(name).run``."""
    one = bench(name)
    return procedure.identify(one.columns, [one.run.samples], tip_speed=TIP_SPEED)


def physical(pi) -> bool:
    """Whether a body with pi (10,) can exist: its pseudo-inertia is positive definite."""
    return bool(np.linalg.eigvalsh(inertia.pseudo_inertia(pi)).min() > 0.0)
