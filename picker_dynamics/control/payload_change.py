"""Change of payload: from the torques of one model to those of another within a time, however many changes come on the way.

    tau = (1 - w) tau_former + w tau_new,    w = 3 x² - 2 x³,  x = t / T        the passage without kinks, at most 1.5 / T fast

A change under way goes on from where it is: what is blended so far is the former one of the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from picker_dynamics.robot.model import Array, DynamicsModel

STEEPEST = 1.5
"""Largest slope of ``progress`` times its duration."""

SETTLED_WEIGHT = 1e-12
"""Share of torque below which a former payload is forgotten."""


class Payload(NamedTuple):
    """A load at the tool: mass [kg], centre of mass (3,) [m] in the tool frame."""

    mass: float = 0.0
    com: tuple[float, ...] = (0.0, 0.0, 0.0)


def progress(elapsed: float, duration: float) -> float:
    """Progress 3 x² - 2 x³ of the time that has elapsed, x = elapsed / duration, 1 after it: a passage without kinks."""
    if elapsed >= duration:
        return 1.0
    x = elapsed / duration
    return x * x * (3.0 - 2.0 * x)


class PayloadChange:
    """The arm with its payload, and those that it had before as long as they count.

    Attributes:
        model: the arm with the payload that was set last.
    """

    def __init__(self, model: DynamicsModel):
        self.model = model
        self._former: tuple[tuple[float, DynamicsModel], ...] = ()
        self._elapsed = self._duration = 0.0

    @property
    def settled(self) -> bool:
        """Whether the change is over: the last payload counts alone."""
        return self._elapsed >= self._duration

    def begin(self, model: DynamicsModel, duration_s: float) -> None:
        """Pass over to another one within ``duration_s`` [s]."""
        self._former = tuple((w, one) for w, one in self._parts() if w > SETTLED_WEIGHT)
        self.model, self._elapsed, self._duration = model, 0.0, duration_s

    def pass_over(self, former: DynamicsModel, duration_s: float) -> None:
        """Pass over to the present payload from ``former``, whatever was under way, within ``duration_s`` [s]."""
        self._former, self._elapsed, self._duration = ((1.0, former),), 0.0, duration_s

    def finish(self) -> None:
        """Finish the change: the last payload counts alone from now on."""
        self._elapsed = self._duration

    def advance(self, dt: float) -> None:
        self._elapsed += dt

    def torque(self, of: Callable[[DynamicsModel], Array]) -> Array:
        """Blended torque (n,) [N·m], ``of`` each model."""
        first, *more = [weight * of(model) for weight, model in self._parts()]
        return sum(more, first)

    def _parts(self) -> tuple[tuple[float, DynamicsModel], ...]:
        """Weights, summing to 1, and the models whose torques they weigh."""
        weight = progress(self._elapsed, self._duration)
        if weight == 1.0:
            self._former = ()
        return (*(((1.0 - weight) * w, model) for w, model in self._former), (weight if self._former else 1.0, self.model))
