"""The C structs of messages, read by what rclpy's own conversion wrote into them."""

from __future__ import annotations

import ctypes
import functools

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.type_support import check_for_type_support
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory

from picker_dynamics.errors import InputError, TrajectoryError
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.nodes.c_requests import MAX_CHARACTERS, MAX_ENTRIES, MessageFunctions, c_struct, require_little
from picker_dynamics.nodes.deferred_action import require_short

pytestmark = pytest.mark.ros


@pytest.fixture
def written():
    """Of a message: its C struct as rclpy fills it."""
    undo = []

    def write(message):
        check_for_type_support(type(message))
        functions = MessageFunctions(type(message))
        made = functions.create()
        undo.append(lambda: functions.destroy(made))
        functions.from_python(message, made)
        assert functions.to_python(made) == message
        return c_struct(message).from_address(made)

    yield write
    for each in undo:
        each()


def test_every_field_is_where_it_was_written(written):
    message = JointTrajectory(joint_names=["a", "b", "c"], points=[JointTrajectoryPoint()] * 7)
    message.header.stamp.sec, message.header.stamp.nanosec, message.header.frame_id = -5, 7, "frame"
    read = written(message)
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == (-5, 7)
    assert ctypes.string_at(read.header.frame_id.data) == b"frame" and read.header.frame_id.size == 5
    assert (read.joint_names.size, read.points.size) == (3, 7)


@pytest.mark.parametrize(
    ("message", "field", "value", "said"),
    [
        (JointTrajectory(), "points", [JointTrajectoryPoint()], "points"),
        (JointTrajectory(), "header.frame_id", "x", "characters in frame_id"),
        (MultiDOFJointTrajectory(), "joint_names", ["x"], "joint_names"),
        (JointState(), "name", ["x"], "name"),
        (JointState(), "effort", [1.0], "effort"),
        (DiagnosticArray(), "status", [DiagnosticStatus(name="x")], "status"),
    ],
)
def test_what_is_too_long_is_told_by_name_and_number(written, message, field, value, said):
    *path, last = field.split(".")
    for count in (MAX_POINTS, MAX_POINTS + 1):
        setattr(functools.reduce(getattr, path, message), last, value * count)
        read = written(message)
        if count == MAX_POINTS:
            require_short(read)
    with pytest.raises(TrajectoryError, match=f"^the goal has {MAX_POINTS + 1} {said}, at most {MAX_POINTS} are taken$"):
        require_short(read)


HALF = MAX_ENTRIES // 2


@pytest.mark.parametrize(
    ("parameters", "entries"),
    [
        ([Parameter(name="a")] * MAX_ENTRIES, MAX_ENTRIES),
        ([Parameter(name="a")] * (MAX_ENTRIES + 1), MAX_ENTRIES + 1),
        ([Parameter(), Parameter(value=ParameterValue(string_array_value=["x"] * MAX_ENTRIES))], MAX_ENTRIES + 2),
        ([Parameter(value=ParameterValue(bool_array_value=[True] * (MAX_ENTRIES - 1)))], MAX_ENTRIES),
        ([Parameter(value=ParameterValue(double_array_value=[0.5] * HALF))] * 2, 2 * HALF + 2),
    ],
)
def test_entries_within_entries_are_counted(written, parameters, entries):
    read = written(SetParameters.Request(parameters=parameters))
    if entries <= MAX_ENTRIES:
        require_little(read)
        return
    with pytest.raises(InputError, match=f"^the request has {entries} entries or more, at most {MAX_ENTRIES} are taken$"):
        require_little(read)


@pytest.mark.parametrize("where", ["name", "text", "texts"])
def test_characters_are_counted_wherever_they_stand(written, where):
    for count in (MAX_CHARACTERS, MAX_CHARACTERS + 1):
        text = "x" * count
        value = {"text": ParameterValue(string_value=text), "texts": ParameterValue(string_array_value=[text])}
        parameter = Parameter(name=text) if where == "name" else Parameter(value=value[where])
        read = written(SetParameters.Request(parameters=[parameter]))
        if count == MAX_CHARACTERS:
            require_little(read)
    with pytest.raises(InputError, match=f"^the request has {MAX_CHARACTERS + 1} characters or more"):
        require_little(read)
