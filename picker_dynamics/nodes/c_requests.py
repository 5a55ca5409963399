"""Goal requests as the C messages that rcl makes of them, looked at before Python has anything to do with them.

``take_goal_request`` of rclpy decodes a request, converts it and frees it while nothing else of the process runs, and dropping
the message costs as much again: a tenth of a second and more for 100 000 points that are refused anyway.  Called through ctypes,
rcl decodes beside the rest; counts in the C message then say whether it is worth converting.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

from rclpy.impl.implementation_singleton import rclpy_implementation
from rosidl_parser.definition import AbstractGenericString, AbstractSequence, Array, BasicType, NamespacedType

from picker_dynamics.errors import TrajectoryError
from picker_dynamics.execution.goal import require_few

REQUEST_ID_BYTES = 64
"""More than an rmw_request_id_t has; nobody looks into it."""

RCL_RET_TIMEOUT = 2

C_NAMES = {"boolean": "bool", "octet": "uint8", "char": "int8", "wchar": "uint16", "long double": "longdouble"}
"""Basic types that ctypes calls otherwise."""


class Counted(ctypes.Structure):
    """A sequence of rosidl_runtime_c."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t))


class Text(Counted):
    """A string of rosidl_runtime_c."""


def c_struct(message) -> type[ctypes.Structure]:
    """The struct that rosidl_generator_c makes of a message's type."""
    fields = [
        (slot.strip("_"), _c_type(kind, getattr(message, slot)))
        for slot, kind in zip(message.__slots__, message.SLOT_TYPES, strict=False)
    ]
    return type(type(message).__name__, (ctypes.Structure,), {"_fields_": fields})


def _c_type(kind, value):
    if isinstance(kind, BasicType):
        return getattr(ctypes, "c_" + C_NAMES.get(kind.typename, kind.typename))
    if isinstance(kind, AbstractSequence):
        return Counted
    if isinstance(kind, AbstractGenericString):
        return Text
    if isinstance(kind, NamespacedType):
        return c_struct(value)
    if isinstance(kind, Array):
        return _c_type(kind.value_type, value[0]) * kind.size
    raise TypeError(f"{kind} is no field of a message")


def require_short(message: ctypes.Structure) -> None:
    """Raise a TrajectoryError where a field has more than a goal may have; what is in the entries is not looked at."""
    for slot, _ in message._fields_:
        value = getattr(message, slot)
        if isinstance(value, Counted):
            require_few(value.size, ("characters in " if isinstance(value, Text) else "") + slot)
        elif isinstance(value, ctypes.Structure):
            require_short(value)


class CRequests:
    """Takes and answers the goal requests of one action server.

    Args:
        server: rclpy's handle of it.
        service: ``Impl.SendGoalService`` of the action's type.

    Raises:
        AttributeError, TypeError, ValueError: rclpy or the messages are not built as they are in Jazzy.
    """

    def __init__(self, server, service):
        self._server, self._service = server, service
        library = ctypes.CDLL(rclpy_implementation.__file__)  # and all that it is linked with
        self._take, self._send = library.rcl_action_take_goal_request, library.rcl_action_send_goal_response
        self._forget_error = library.rcutils_reset_error
        self._take.argtypes = self._send.argtypes = (ctypes.c_void_p,) * 3
        self._struct = c_struct(service.Request())
        self._request, self._response = _Functions(service.Request), _Functions(service.Response)
        self._pointer = server.pointer

    def take(self) -> tuple:
        """Identifier and message of a request, None twice where there is none; a TrajectoryError for a goal that is too long."""
        identifier, message = ctypes.create_string_buffer(REQUEST_ID_BYTES), self._request.create()
        try:
            with self._server:
                taken = self._take(self._pointer, identifier, message)
            if taken:
                self._forget_error()
                return None, None
            try:
                require_short(self._struct.from_address(message))
            except TrajectoryError as error:
                goal_id = self._service.Request().goal_id
                goal_id.uuid = list(self._struct.from_address(message).goal_id.uuid)
                return identifier, SimpleNamespace(goal_id=goal_id, goal=error)
            return identifier, self._request.to_python(message)
        finally:
            self._request.destroy(message)

    def answer(self, identifier, response) -> bool:
        """Send a response; whether that worked, or may have: the client can be gone."""
        message = self._response.create()
        try:
            self._response.from_python(response, message)
            with self._server:
                failed = self._send(self._pointer, identifier, message)
            if failed:
                self._forget_error()
            return failed in (0, RCL_RET_TIMEOUT)
        finally:
            self._response.destroy(message)


class _Functions:
    """What rosidl_generator_py made for a type of messages; Python goes on while one is destroyed."""

    def __init__(self, kind):
        message = ctypes.c_void_p
        pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi)
        )
        made = type(kind)
        self.create = ctypes.CFUNCTYPE(message)(pointer(made._CREATE_ROS_MESSAGE, None))  # noqa: SLF001
        self.destroy = ctypes.CFUNCTYPE(None, message)(pointer(made._DESTROY_ROS_MESSAGE, None))  # noqa: SLF001
        self.to_python = ctypes.PYFUNCTYPE(ctypes.py_object, message)(pointer(made._CONVERT_TO_PY, None))  # noqa: SLF001
        self.from_python = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, message)(
            pointer(made._CONVERT_FROM_PY, None)  # noqa: SLF001
        )
