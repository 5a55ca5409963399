"""Control of cheap servo arms: dynamics, compensation, trajectories, serial hardware and ROS 2 nodes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # ``picker`` hears Ctrl-C once this is loaded: nothing is that can wait
    from typing import Any

__version__ = "0.1.0"
__all__ = ["Arm", "Waypoint", "load"]


def __getattr__(name: str) -> Any:
    """``Arm``, ``Waypoint`` and ``load``, brought in where somebody asks for them: Pinocchio takes a while to load."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("picker_dynamics.scripting.arm"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
