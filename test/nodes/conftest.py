"""A running graph for the tests of one file, which leave it holding."""

import pytest
from ros_graph import Running, running_graph


@pytest.fixture(scope="module")
def arm(domain, tmp_path_factory, request) -> Running:
    """The whole graph in simulation; GRAPH in the file: its options."""
    with running_graph(tmp_path_factory.mktemp("arm"), **getattr(request.module, "GRAPH", {})) as running:
        yield running
