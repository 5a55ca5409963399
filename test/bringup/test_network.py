"""Operator and arm on two machines, in a process of its own: Fast DDS keeps to the interfaces that it saw first."""

from __future__ import annotations

from pathlib import Path

import pytest
from two_machines import missing
from waiting import python

CASES = Path(__file__).with_name("network_cases.py")
PATIENCE_S = 600.0

pytestmark = [pytest.mark.ros, pytest.mark.long, pytest.mark.timeout(PATIENCE_S + 60.0)]


def test_goals_streams_and_stop_over_a_network_that_loses_packets_or_is_cut():
    if reason := missing():
        pytest.skip(reason)
    words = ("-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", str(CASES))
    done = python(*words, timeout=PATIENCE_S, cwd=CASES.parents[2])
    assert done.returncode == 0 and "3 passed" in done.stdout, f"{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
