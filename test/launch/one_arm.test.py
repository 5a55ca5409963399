"""launch_test test/launch/one_arm.test.py: picker.launch.py brings an arm up, and it does what it shall."""

import sys
import unittest
from pathlib import Path

import launch_testing

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from launch_bench import LaunchedArms
from ros_graph import home_of, stops_and_resumes_nothing


def generate_test_description():
    bench = LaunchedArms()
    return bench.arms(""), {"bench": bench}


class TestTheArm(unittest.TestCase):
    @classmethod
    def setUpClass(cls, bench):
        cls.arm = cls.enterClassContext(bench.connected())

    def test_it_comes_up_holding_and_moves(self):
        self.arm.client.wait_holding()
        self.arm.client.move(home_of(), 2.0)
        self.assertLess(abs(self.arm.stands() - home_of()).max(), 0.03)

    def test_it_stops_and_resumes_nothing(self):
        self.arm.client.wait_holding()
        stops_and_resumes_nothing(self.arm)


@launch_testing.post_shutdown_test()
class TestAfterwards(unittest.TestCase):
    def test_every_process_ended_by_itself_when_told(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_nothing_is_left_behind(self, bench):
        self.assertEqual(bench.left_behind(), [])

    @classmethod
    def tearDownClass(cls, bench):
        bench.close()
