"""Studies of the reference notes, as commands: ``picker study rrp``, ``picker study arduino``."""

from __future__ import annotations

from picker_dynamics.commands.study.command import add_parser

__all__ = ["add_parser"]
