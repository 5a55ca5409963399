"""Control of cheap servo arms: dynamics, compensation, trajectories, serial hardware and ROS 2 nodes."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["Arm", "load"]


def __getattr__(name: str) -> Any:
    """``Arm`` and ``load``, brought in where somebody asks for them: Pinocchio takes a while to load."""
    if name in __all__:
        return getattr(import_module("picker_dynamics.scripting.arm"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
