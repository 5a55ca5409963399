"""Studies of the reference notes, as commands: ``picker study rrp``, ``picker study arduino``."""

from __future__ import annotations

from .command import add_parser

__all__ = ["add_parser"]
