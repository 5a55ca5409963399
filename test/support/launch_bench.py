"""Arms of launch/picker.launch.py under launch_testing, in a ROS domain of their own: what the files in test/launch/ share."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from launch import LaunchDescription
from launch.actions import ExecuteProcess, GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from launch_testing.util import KeepAliveProc
from patient import patience, patiently
from ros_graph import Running, Started, arm_of, control_socket, folder_of, own_domain
from scenarios.bench import wait_until_up
from waiting import PATIENCE_S

from picker_dynamics.resources import resource

LAUNCH_FAILURE = 1
"""Exit code of `ros2 launch` when a process of picker.launch.py ends by itself."""


class LaunchedArms:
    """Everything that has to be undone after a launch: the domain, a folder for its boards, clients."""

    def __init__(self):
        self._to_undo = contextlib.ExitStack()
        self._to_undo.enter_context(own_domain())
        self._to_undo.enter_context(patience())
        self.directory = Path(self._to_undo.enter_context(tempfile.TemporaryDirectory(prefix="launched_")))
        self._to_undo.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = str(self.directory)  # launch runs in this process, and so does bringup

    def arms(self, *namespaces: str) -> LaunchDescription:
        """picker.launch.py as it is, once for each namespace."""
        source = PythonLaunchDescriptionSource(str(resource("launch/picker.launch.py")))
        included = (
            IncludeLaunchDescription(source, launch_arguments=[("hardware", "sim"), ("namespace", name)]) for name in namespaces
        )
        return LaunchDescription([*(GroupAction([one]) for one in included), ReadyToTest()])

    def ros2_launch(self) -> tuple[LaunchDescription, ExecuteProcess]:
        """`ros2 launch` as a process of its own, to see how it ends; and something that stays when it has."""
        process = ExecuteProcess(
            cmd=patiently("ros2", "launch", "picker_dynamics", "picker.launch.py", "hardware:=sim"),
            additional_env={"TMPDIR": str(self.directory)},
            sigterm_timeout=str(PATIENCE_S),
        )
        return LaunchDescription([process, KeepAliveProc(), ReadyToTest()]), process

    def connected(self, namespace: str = "") -> contextlib.AbstractContextManager[Running]:
        """The arm in ``namespace``, once its board runs."""
        return arm_of(control_socket(self.directory, folder_of(namespace)), namespace)

    @contextlib.contextmanager
    def started(self, process: ExecuteProcess, proc_info, proc_output):
        """The graph of :meth:`ros2_launch`, holding."""

        def ended() -> tuple[int, str]:
            proc_info.assertWaitForShutdown(process, timeout=PATIENCE_S)
            said = b"".join(line.text for line in proc_output[process]).decode()
            return proc_info[process].returncode, said

        with arm_of(control_socket(self.directory, folder_of())) as running:
            wait_until_up(running.client)
            yield Started(proc_info[process].pid, running, LAUNCH_FAILURE, ended)

    def left_behind(self) -> list[str]:
        """What the boards left in their folder."""
        return [path.name for path in self.directory.glob("picker_*")]

    def close(self) -> None:
        self._to_undo.close()
