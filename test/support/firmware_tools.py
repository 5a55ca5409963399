"""Which firmware tests can run here, and small programs around the generated header."""

import re
import subprocess
from pathlib import Path

import pytest
from places import ROOT

from picker_dynamics.board.firmware import packages
from picker_dynamics.board.protocol import Fault
from picker_dynamics.board.protocol.codes import FAULT_TEXT

SKETCH = ROOT / "firmware" / "picker_firmware"


def doc_section(doc: str, title: str) -> str:
    """The text of a page between a heading and the next one of any level."""
    match = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", doc, re.M | re.S)
    assert match, f"the page has no section {title!r}"
    return match.group(1)


def doc_rows(doc: str, title: str) -> list[list[str]]:
    """The cells of the first table in a section, without its heading; none where there is no table."""
    table = re.search(r"(?:^\|.*\n)+", doc_section(doc, title), re.M)
    lines = table[0].splitlines()[2:] if table else []
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


FAULT_ROWS = [[str(int(fault)), fault.name, *FAULT_TEXT[fault]] for fault in Fault]
"""As a page lists the faults."""


def require(*what: str) -> None:
    """Skip the module where these are not here (``packages.NEEDS``), with one line that says what to install."""
    problem = packages.missing(*what)
    if problem:
        pytest.skip(problem, allow_module_level=True)


def needs(*what: str):
    """Mark for tests that cannot run without these (``packages.NEEDS``); the reason says what to install."""
    reason = packages.missing(*what)
    return pytest.mark.skipif(bool(reason), reason=reason)


def compile_host(folder: Path, source: str, header: str, *options: str, output: str = "program") -> Path:
    """Compile C++ ``source`` with the core's gravity and an ``arm_config.h`` of that text."""
    (folder / "arm_config.h").write_text(header)
    (folder / "program.cpp").write_text(source)
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-address"]
    command = [
        "g++",
        "-std=c++11",
        *warnings,
        f"-I{folder}",
        f"-I{SKETCH}",
        *options,
        str(folder / "program.cpp"),
        str(SKETCH / "src/core/gravity.cpp"),
        "-o",
        str(folder / output),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / output
