"""Set-points reach a link through the sender alone."""

import re
from pathlib import Path

import picker_dynamics

ROOT = Path(picker_dynamics.__file__).parent


def users(pattern: str) -> set[str]:
    """Modules of the package in whose text this occurs."""
    return {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if re.search(pattern, path.read_text("utf-8"))}


def test_no_module_but_the_sender_sends_set_points_and_none_but_the_link_makes_them():
    assert users(r"\w\.send_setpoint\b(?!`)") == {"board/setpoint_sender.py", "board/link/__init__.py"}
    made = {"board/link/connection.py", "board/protocol/__init__.py", "sim/output_motion.py"}  # the last is the board's own queue
    assert users(r"(?<!class )\bSetPoint\((?!Message)") == made
