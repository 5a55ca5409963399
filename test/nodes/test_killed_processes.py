"""`picker up` when one of its processes is killed while the arm moves; launch_test does the same to `ros2 launch`."""

from __future__ import annotations

import pytest
from ros_graph import BOARD, own_domain, picker_up
from scenarios import graphs


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.parametrize("name", ["arm", BOARD])
def test_picker_up_ends_and_says_why(tmp_path, name):
    with own_domain(), picker_up(tmp_path) as graph:
        graphs.ends_when_a_process_dies(graph, name)
    assert [path.name for path in tmp_path.iterdir()] == ["log"], "no folder is left behind"
