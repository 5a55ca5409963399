"""Whether an arm has rotors worth mentioning, and a payload at its tool, where nobody said: the evidence decides.

Every combination is fitted to the same samples with the same weights and noise, those of the free base parameters of the richest
one.  The plainest combination whose evidence is not clearly below the best is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from picker_dynamics.errors import InputError

from . import consistent, tool_load
from .columns import Columns
from .filtering import Equations
from .least_squares import BaseFit

CLEARLY = 5.0
"""Logarithm of the odds above which something is kept (very strong: R. E. Kass and A. E. Raftery, Bayes factors, Journal of the
American Statistical Association 90, 1995)."""


@dataclass(frozen=True)
class Trial:
    """Something that nobody asked for and that may explain the efforts: ``rotors`` or ``payload``.

    Attributes:
        kept: whether it is part of what was found.
        odds: logarithm of the odds for it; nan: with it this motion leaves something open.
    """

    name: str
    kept: bool
    odds: float


def choose(
    columns: Columns,
    read: Callable[[Columns], Sequence[Equations]],
    free: Callable[[Columns, Sequence[Equations], bool], BaseFit],
    *,
    rotors: bool,
    payload: bool | None,
) -> tuple[Columns, bool, tuple[Trial, ...]]:
    """The columns to fit, whether with a payload, and what was tried.

    Args:
        columns: without what is to be tried.
        read: equations with such columns.
        free: base parameters from them; the last argument allows open ones.
        rotors: try them.
        payload: whether there is one; None: try it.
    """
    trials, kinds = [], [columns]
    rotors = rotors and "rotor" not in columns.drives
    if payload is not None:
        loads: tuple[bool, ...] = (payload,)
    else:
        loads = (False,) if tool_load.carrier(columns.description) is None else (False, True)
    if rotors:
        kinds.append(columns.with_rotors())
    equations = {one: read(one) for one in kinds}
    judge = free(kinds[-1], equations[kinds[-1]], True)
    if rotors and judge.open:
        trials.append(Trial("rotors", False, math.nan))
        judge = free(columns, equations[columns], True)
        kinds, rotors = kinds[:1], False
    evidence = {(one is not columns, load): _evidence(one, equations[one], judge, load) for one in kinds for load in loads}
    best = max(evidence.values())
    plainest_first = sorted(evidence, key=lambda kind: (sum(kind), -evidence[kind]))
    chosen = next(kind for kind in plainest_first if evidence[kind] >= best - CLEARLY)
    for place, (name, tried) in enumerate((("rotors", rotors), ("payload", len(loads) > 1))):
        if tried:
            with_it, without = (max(evidence[kind] for kind in evidence if kind[place] is one) for one in (True, False))
            trials.append(Trial(name, chosen[place], with_it - without))
    return kinds[-1] if chosen[0] else columns, chosen[1], tuple(trials)


def _evidence(columns: Columns, equations: Sequence[Equations], judge: BaseFit, load: bool) -> float:
    """Of one combination; minus infinity where no solution is found, which is no reason to refuse the others."""
    try:
        return consistent.fit(columns, equations, judge, load=load).evidence
    except InputError:
        return -math.inf
