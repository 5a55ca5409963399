"""A running graph for the tests of one file, which leave it holding."""

from __future__ import annotations

import pytest
from ros_graph import Running, holding_graph


@pytest.fixture(scope="module")
def arm(domain, tmp_path_factory, request) -> Running:
    """The whole graph in simulation; GRAPH in the file: its options."""
    with holding_graph(tmp_path_factory.mktemp("arm"), **getattr(request.module, "GRAPH", {})) as running:
        yield running


@pytest.fixture
def client(arm):
    assert arm.runner.dead() is None
    return arm.client


@pytest.fixture
def board(arm):
    return arm.board


@pytest.fixture
def settings(arm):
    """Afterwards the controller's are those of before."""
    yield
    if arm.runner.dead() is None:
        arm.client.set_parameters("trajectory_controller", speed_scaling=1.0, allow_partial_joints_goal=False)
