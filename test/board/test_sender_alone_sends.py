"""Set-points reach a link through the sender alone."""

import ast
from pathlib import Path

import picker_dynamics


def test_no_module_but_the_sender_calls_send_setpoint():
    root = Path(picker_dynamics.__file__).parent
    callers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "send_setpoint"
    }
    assert callers == {"board/setpoint_sender.py"}


def test_no_module_but_the_link_makes_set_points():
    root = Path(picker_dynamics.__file__).parent
    makers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "SetPoint"
    }
    assert makers == {"board/link/connection.py"}
