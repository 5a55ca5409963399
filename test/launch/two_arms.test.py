"""launch_test test/launch/two_arms.test.py: picker.launch.py twice, in two namespaces."""

import sys
import unittest
from pathlib import Path

import launch_testing

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from launch_bench import LaunchedArms
from ros_graph import home_of, two_arms_do_not_disturb_each_other


def generate_test_description():
    bench = LaunchedArms()
    return bench.arms("left", "right"), {"bench": bench}


class TestTwoArms(unittest.TestCase):
    def test_they_do_not_disturb_each_other(self, bench):
        with bench.connected("left") as left, bench.connected("right") as right:
            for arm in (left, right):
                arm.client.wait_holding()
                arm.client.move(home_of(), 2.0)
            two_arms_do_not_disturb_each_other(left, right)


@launch_testing.post_shutdown_test()
class TestAfterwards(unittest.TestCase):
    def test_every_process_ended_by_itself_when_told(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_nothing_is_left_behind(self, bench):
        self.assertEqual(bench.left_behind(), [])

    @classmethod
    def tearDownClass(cls, bench):
        bench.close()
