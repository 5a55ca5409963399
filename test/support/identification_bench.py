"""What the tests of identification share: an arm with hidden numbers, measured along a motion that was chosen for it."""

import functools
from dataclasses import dataclass

from arm_fixtures import shipped_arm

from benchmarks import hidden_arms
from picker_dynamics.estimation.identification import base, procedure
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.excitation import Excitation, Search
from picker_dynamics.robot import description
from picker_dynamics.scripting.equipment import equipment

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
    run: hidden_arms.Run
    other: hidden_arms.Run


@functools.cache
def bench() -> IdentificationCase:
    """Made once."""
    believed = shipped_arm(ARM).description
    columns = Columns(believed)
    search = Search(base.find(columns), equipment(ARM).validator(tip_speed=TIP_SPEED), 10.0)
    motion, other = (search.run(shipped_arm(ARM).home, seed, drawn=30, bettered=150) for seed in (0, 1))
    truth = hidden_arms.hidden(believed, 1, TIP_SPEED)
    runs = (hidden_arms.run(truth, believed, one.motion, 1 + i) for i, one in enumerate((motion, other)))
    return IdentificationCase(believed, truth, columns, search, motion, *runs)


@functools.cache
def found() -> procedure.Identified:
    """The arm identified from ``bench().run``."""
    return procedure.identify(bench().columns, [bench().run.samples], tip_speed=TIP_SPEED)
