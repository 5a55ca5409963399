"""``Arm.connect``: the same script on an arm that is served, judged by the simulation's truth; a process that is silent."""

import signal

import numpy as np
import pytest
from ros_graph import running_graph
from served_arm import Served

from picker_dynamics import Arm, Waypoint
from picker_dynamics.errors import GoalRefusedError, LinkError
from picker_dynamics.session import session

OFF_M = 0.003
"""How far the true tip, and what is said of it, may be from where it was told to be: friction holds typical servos 1 to 2.5 mm
off after any motion before; that the tip is within 14 to 17 mm is said for those whose numbers are drawn."""


@pytest.mark.long
def test_the_script_moves_asks_records_and_is_refused():
    with Served() as served, Arm.connect() as arm:
        arm.home()
        with arm.record() as recorded:
            arm.move(tip=(0.26, 0.08, 0.17))
        served.spend(1.0)
        assert np.linalg.norm(served.tip - [0.26, 0.08, 0.17]) < OFF_M, "the true tip"
        assert np.linalg.norm(arm.tip - served.tip) < OFF_M and arm.payload == 0.0
        assert len(recorded.arrays["t"]) > 20
        begin = arm.tip_at(np.array(served.session.arm.servos.home))
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
        moving = arm.move(base=-0.3, duration=10.0, wait=False)
        served.spend(1.2)
        assert 0.1 < moving.progress < 1.0 and not moving.done()
        moving.cancel()
        arm.payload = 0.01
        assert arm.payload == 0.01
        arm.payload = 0.0
        arm.home()


def test_a_script_that_closes_the_arm_in_motion_has_it_stop():
    with Served() as served:
        with Arm.connect() as arm:
            arm.move(base=0.8, duration=4.0, wait=False)
            served.spend(1.0)
        before = served.session.plant.q[0]
        served.spend(1.0)
        assert 0.03 < before < 0.4 and abs(served.session.plant.q[0] - before) < 0.03, "0.3 rad further, where it goes on"


@pytest.mark.long
@pytest.mark.ros
def test_a_motion_of_a_graph_that_is_silent_ends_for_who_waits(domain, tmp_path, monkeypatch):
    with running_graph(tmp_path) as running, Arm.connect() as arm:
        monkeypatch.setattr(session, "SILENT_S", 0.4)
        moving = arm.move(base=0.3, duration=3.0, wait=False)
        running.runner.processes["arm"].send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(LinkError, match="no answer from the arm for 0.4 s"):
                moving.wait()
        finally:
            running.runner.processes["arm"].send_signal(signal.SIGCONT)
        running.client.until(running.client.holding, "an arm that holds")
