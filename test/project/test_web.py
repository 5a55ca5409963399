"""What the page of ``picker view`` computes, by node's own test runner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_web.py"


def test_what_the_page_computes():
    done = subprocess.run([sys.executable, str(TOOL), "test"], capture_output=True, text=True, timeout=120, check=False)
    if "was not looked at" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and "." in done.stdout, done.stdout + done.stderr
