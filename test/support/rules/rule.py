"""Rules of a module, collected by decorating their functions."""

from collections.abc import Callable

from firmware_bench import Bench

Rule = Callable[[Bench], None]


class Rules:
    """Decorator for the rules of one module; its ``all`` are they, in their order."""

    def __init__(self) -> None:
        self.all: list[Rule] = []

    def __call__(self, rule: Rule) -> Rule:
        self.all.append(rule)
        return rule
