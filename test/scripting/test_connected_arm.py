"""``Arm.connect``: the same script on the running graph, judged by the simulation's truth."""

import signal

import numpy as np
import pytest
from arm_fixtures import servos
from ros_graph import running_graph

from picker_dynamics import Arm, Waypoint
from picker_dynamics.errors import GoalRefusedError, LinkError
from picker_dynamics.session import session

pytestmark = [pytest.mark.ros, pytest.mark.long]

HOME = np.array(servos().home)


@pytest.fixture(scope="module")
def graph(domain, tmp_path_factory):
    with running_graph(tmp_path_factory.mktemp("arm")) as running:
        yield running


@pytest.fixture
def running(graph):
    """The arm can be brought home afterwards."""
    yield graph
    graph.client.until(graph.client.holding, "an arm that holds")
    graph.client.move(HOME, 2.0)


def test_the_script_moves_asks_records_and_is_refused_on_the_running_graph(running):
    with Arm.connect() as arm:
        arm.home()
        with arm.record() as recorded:
            arm.move(tip=(0.26, 0.08, 0.17))
        arm.wait(1.0)
        truth = arm.tip_at(running.board.truth().q)
        assert np.linalg.norm(truth - [0.26, 0.08, 0.17]) < 5e-3, "the true tip"
        assert np.linalg.norm(arm.tip - truth) < 5e-3 and arm.payload == 0.0
        assert len(recorded.arrays["t"]) > 20
        begin = arm.tip_at(HOME)
        arm.home()
        with arm.record() as line:
            arm.move(tip=(0.26, 0.08, 0.17), straight=True, via=[Waypoint((0.22, 0.03, 0.17), straight=True)])
        points, end = line.arrays["tip_ref"], np.array((0.22, 0.03, 0.17))
        first = points[points[:, 1] < 0.03]
        off = np.linalg.norm(np.cross(first - begin, end - begin), axis=1) / np.linalg.norm(end - begin)
        assert len(first) > 8 and off.max() < 5e-4, "as it was sent, so it is followed"
        np.testing.assert_allclose(points[-1], (0.26, 0.08, 0.17), atol=1e-4)
        with pytest.raises(GoalRefusedError, match="shoulder needs") as caught:
            arm.move(shoulder=0.0, elbow=0.0)
        assert caught.value.subject == "shoulder" and not arm.plan(shoulder=0.0, elbow=0.0)
        moving = arm.move(base=-0.3, duration=3.0, wait=False)
        arm.wait(0.6)
        assert 0.1 < moving.progress < 1.0 and not moving.done()
        moving.cancel()
        arm.payload = 0.01
        assert arm.payload == 0.01
        arm.payload = 0.0
        arm.home()


def test_a_motion_of_a_graph_that_is_silent_ends_for_who_waits(running, monkeypatch):
    monkeypatch.setattr(session, "SILENT_S", 0.4)
    with Arm.connect() as arm:
        moving = arm.move(base=0.3, duration=3.0, wait=False)
        running.runner.processes["arm"].send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(LinkError, match="nothing came of the arm for 0.4 s"):
                moving.wait()
        finally:
            running.runner.processes["arm"].send_signal(signal.SIGCONT)
            monkeypatch.undo()
