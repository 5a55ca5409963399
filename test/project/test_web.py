"""What the page of ``picker view`` computes, by node's own test runner."""

import pytest
from places import ROOT
from waiting import python

TOOL = ROOT / "tools" / "make_web.py"


def test_what_the_page_computes():
    done = python(str(TOOL), "test", timeout=120)
    if "was not looked at" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and "." in done.stdout, done.stdout + done.stderr
