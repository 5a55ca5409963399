"""launch_test test/launch/killed_process.test.py: `ros2 launch` when the arm's process or the board is killed while the arm moves."""

import sys
import unittest
from pathlib import Path

import launch_testing

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from launch_bench import LaunchedArms
from ros_graph import BOARD
from scenarios import graphs


@launch_testing.parametrize("name", ["arm", BOARD])
def generate_test_description(name):
    bench = LaunchedArms()
    description, process = bench.ros2_launch()
    return description, {"bench": bench, "process": process}


class TestKilled(unittest.TestCase):
    def test_all_others_end_and_the_reason_is_said(self, bench, process, name, proc_info, proc_output):
        with bench.started(process, proc_info, proc_output) as graph:
            graphs.ends_when_a_process_dies(graph, name)
        self.assertEqual(bench.left_behind(), [])

    @classmethod
    def tearDownClass(cls, bench):
        bench.close()
