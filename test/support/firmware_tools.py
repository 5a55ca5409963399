"""Which firmware tests can run here, and small programs around the generated header."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from picker_dynamics.board.firmware import packages

ROOT = Path(__file__).resolve().parents[2]
SKETCH = ROOT / "firmware" / "picker_firmware"


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
