"""Replay of taught motions: the whole of it checked before it begins, then leg by leg, each checked again.

What is looked at first is what ``Arm.plan`` looks at: the way from where the arm is, with the payload that it will carry then,
twice through where it is repeated.
"""

from __future__ import annotations

from pathlib import Path

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.model import Array, checked_number

from . import taught
from .equipment import Equipment
from .legs import Replay
from .legs import checked as checked_legs
from .steps import Step
from .taught import SPEEDS

LOOPS = 1000


def checked(
    known: Equipment,
    name: str | Path,
    held: Array,
    payload: float,
    tip_speed: float | None = None,
    *,
    loop: int = 1,
    speed: float = 1.0,
    first: int | str = 1,
) -> Replay:
    """The whole of it, for an arm that is held at ``held`` (n,) [rad or m] and carries ``payload`` [kg].

    Args:
        name: of a taught motion.
        tip_speed: that its controller allows [m/s]; None: the default.
        loop: how many times.
        speed: times as fast as taught; limits are kept all the same.
        first: step to begin with, by its number or its name.

    Raises:
        GoalRefusedError: a step may not be made: which, and why.
        InputError: a file, a step or a number that cannot be used.
    """
    speed = checked_number("speed", speed, least=SPEEDS[0])
    refuse_if(speed > SPEEDS[1], f"speed is {speed:g}, at most {SPEEDS[1]:g}", "speed", speed, SPEEDS[1])
    refuse_if(loop not in range(1, LOOPS + 1), f"loop is {loop}, must be 1 to {LOOPS}", "loop", loop)
    found = taught.read(name, known.description)
    steps = list(enumerate(found.steps, 1))
    rounds = steps[_index(found.steps, first) :] + (steps if loop > 1 else [])  # from the second time on they are all alike
    refusal = "step {number} ({name}) cannot be made, so none is"
    legs = tuple(checked_legs(known, rounds, held, payload, tip_speed, refusal, speed * found.speed))
    return Replay((*legs, *legs[-len(steps) :] * max(loop - 2, 0)))


def _index(steps: tuple[Step, ...], first: int | str) -> int:
    names = [step.name for step in steps]
    if isinstance(first, str) and not first.isdecimal():
        count = names.count(first)
        refuse_if(count != 1, f"{count} steps are called {first!r}; give a number, 1 to {len(steps)}", "from")
        return names.index(first)
    refuse_if(not 1 <= int(first) <= len(steps), f"there is no step {first}: 1 to {len(steps)}", "from", first, len(steps))
    return int(first) - 1
