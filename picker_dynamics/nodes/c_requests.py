"""Requests of services and actions as the C messages that rcl makes of them, looked at before Python has to do with them.

rclpy decodes a request, converts it and frees it while nothing else of the process runs, and dropping the message costs as much
again: a tenth of a second and more for 100 000 points that are refused anyway.  Called through ctypes, rcl decodes beside the
rest; counts in the C message then say whether it is worth converting.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from rclpy.impl.implementation_singleton import rclpy_implementation
from rosidl_parser.definition import AbstractGenericString, AbstractSequence, Array, BasicType, NamespacedType

from picker_dynamics.errors import InputError

REQUEST_ID_BYTES = 64
"""More than an rmw_request_id_t has; nobody looks into it."""

RCL_RET_TIMEOUT = 2

MAX_ENTRIES, MAX_CHARACTERS = 200, 100_000
"""Of all sequences and texts of a service's request together: rclpy needs 40 us and more for a parameter."""

C_NAMES = {"boolean": "bool", "octet": "uint8", "char": "int8", "wchar": "uint16", "long double": "longdouble"}
"""Basic types that ctypes calls otherwise."""


class Counted(ctypes.Structure):
    """A sequence of rosidl_runtime_c, of entries of the type ``entry``."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t))
    entry: type = ctypes.c_char


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
        return type("Sequence", (Counted,), {"entry": _c_type(kind.value_type, _new(kind.value_type))})
    if isinstance(kind, AbstractGenericString):
        return Text
    if isinstance(kind, NamespacedType):
        return c_struct(value)
    if isinstance(kind, Array):
        return _c_type(kind.value_type, value[0]) * kind.size
    raise TypeError(f"{kind} is no field of a message")


def _new(kind):
    """An empty message, where that is what a sequence is of."""
    return getattr(import_module(".".join(kind.namespaces)), kind.name)() if isinstance(kind, NamespacedType) else None


def require_little(message: ctypes.Structure) -> None:
    """Raise an InputError where a message's sequences or texts, those of their entries too, have more than a request may have."""
    entries = characters = 0
    for what, count in _counts(message):
        if what is Text:
            characters += count
        else:
            entries += count
        for number, most, name in ((entries, MAX_ENTRIES, "entries"), (characters, MAX_CHARACTERS, "characters")):
            if number > most:
                text = f"the request has {number} {name} or more, at most {most} are taken"
                raise InputError(text, subject=name, value=number, limit=most)


def _counts(message: ctypes.Structure) -> Iterator[tuple[type, int]]:
    """Class and size of each text and sequence, before those that its entries have."""
    if isinstance(message, Counted):
        yield type(message), message.size
        if issubclass(message.entry, ctypes.Structure):
            for place in range(message.size):
                yield from _counts(message.entry.from_address(message.data + place * ctypes.sizeof(message.entry)))
        return
    for slot, _ in message._fields_:
        value = getattr(message, slot)
        if isinstance(value, ctypes.Structure):
            yield from _counts(value)


class TooMuch(NamedTuple):
    """A request that is refused by its size; how many entries its first sequence has."""

    error: InputError
    entries: int


class CRequests:
    """Takes and answers the requests of one service; in place of one that has too much comes what says so.

    Args:
        server: rclpy's handle of it.
        service: its type.
        take, send: rcl's functions for it.

    Raises:
        AttributeError, TypeError, ValueError: rclpy or the messages are not built as they are in Jazzy.
    """

    def __init__(self, server, service, take: str = "rcl_take_request", send: str = "rcl_send_response"):
        self._server, self._service = server, service
        library = ctypes.CDLL(rclpy_implementation.__file__)  # and all that it is linked with
        self._take, self._send = getattr(library, take), getattr(library, send)
        self._forget_error = library.rcutils_reset_error
        self._take.argtypes = self._send.argtypes = (ctypes.c_void_p,) * 3
        self._struct = c_struct(service.Request())
        self._request, self._response = MessageFunctions(service.Request), MessageFunctions(service.Response)
        self._pointer = server.pointer

    def take(self) -> tuple:
        """Identifier and message of a request, None twice where there is none."""
        identifier, message = ctypes.create_string_buffer(REQUEST_ID_BYTES), self._request.create()
        try:
            with self._server:
                taken = self._take(self._pointer, identifier, message)
            if taken:
                self._forget_error()
                return None, None
            refused = self._look(self._struct.from_address(message))
            return identifier, self._request.to_python(message) if refused is None else refused
        finally:
            self._request.destroy(message)

    def _look(self, message: ctypes.Structure):
        """What is handed on instead of a message that has too much, else None."""
        try:
            require_little(message)
        except InputError as error:
            sequences = (value.size for slot, _ in message._fields_ if isinstance(value := getattr(message, slot), Counted))
            return TooMuch(error, next(sequences, 0))
        return None

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


class MessageFunctions:
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
