"""Arms of launch/picker.launch.py under launch_testing, in a ROS domain of their own: what the files in test/launch/ share."""

import contextlib
import tempfile
from pathlib import Path

from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from patient import patience
from ros_graph import Running, arm_of, control_socket, folder_of, own_domain

from picker_dynamics.resources import resource


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

    def connected(self, namespace: str = "") -> contextlib.AbstractContextManager[Running]:
        """The arm in ``namespace``, once its board runs."""
        return arm_of(control_socket(self.directory, folder_of(namespace)), namespace)

    def left_behind(self) -> list[str]:
        """What the boards left in their folder."""
        return [path.name for path in self.directory.glob("picker_*")]

    def close(self) -> None:
        self._to_undo.close()
