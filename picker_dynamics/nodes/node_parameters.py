"""Parameters of a node as settings of a part of the arm: declared with unit and range, changed from either side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from picker_dynamics.controller.settings import Setting, Settings
from picker_dynamics.errors import ConfigurationError, PickerError
from picker_dynamics.session.process import require_known


def settings_of(node: Node, part: str) -> Settings:
    """Settings of a part of the arm that are the parameters of ``node``."""
    return Settings(part, partial(_declared, node))


def _declared(node: Node, one: Setting) -> Any:
    """Declare a setting as a parameter with description (unit included) and range; return its value.

    Raises:
        ConfigurationError: the value given at the start has another type or is out of range.
    """
    descriptor = ParameterDescriptor(name=one.name, description=one.text, read_only=one.fixed)
    if one.low is not None and one.high is not None and not one.endless:
        if isinstance(one.default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(one.low), to_value=int(one.high))]
        else:
            descriptor.floating_point_range = [FloatingPointRange(from_value=float(one.low), to_value=float(one.high))]
    value, whole = one.default, False
    if node.has_parameter(one.name):  # as it was given, of any type
        given = node.get_parameter(one.name).value
        if whole := isinstance(one.default, float) and type(given) is int:  # YAML's 50 is meant for 50.0
            value = float(given)
        node.undeclare_parameter(one.name)
    try:
        return _plain(node.declare_parameter(one.name, value, descriptor, ignore_override=whole).value)
    except ParameterException as error:
        raise ConfigurationError(f"parameter {one.name}: {error}", one.name) from error


def _plain(value: Any) -> Any:
    return list(value) if hasattr(value, "typecode") else value


def take_settings(
    node: Node, settings: Settings, turn: AbstractContextManager[Any] | None = None, later: Callable[..., object] | None = None
) -> None:
    """Have new values of parameters taken by ``settings``, with ``turn`` held; a PickerError refuses them with its text.

    Args:
        later: has the executor call a function, from any thread: the parameters follow settings that others change.

    Raises:
        ConfigurationError: a name that looks like a misspelt one of the node; simulated time.
    """
    parameters: Mapping[str, Any] = node.get_parameters_by_prefix("")  # rclpy says values, and gives parameters
    given = {name: one.value for name, one in parameters.items()}
    _require_steady_time(given)
    require_known(settings, given)

    def as_meant(parameters: list[Parameter]) -> list[Parameter]:
        """A whole number where a fraction is meant, as ``ros2 param set`` reads 1, becomes one."""
        return [
            Parameter(one.name, value=float(one.value))
            if type(one.value) is int and one.name in settings and isinstance(settings[one.name], float)
            else one
            for one in parameters
        ]

    def take(parameters: list[Parameter]) -> SetParametersResult:
        values = {one.name: _plain(one.value) for one in parameters}
        try:
            _require_steady_time(values)
            with turn or nullcontext():
                if new := {name: value for name, value in values.items() if name in settings and settings[name] != value}:
                    settings.change(new)
        except PickerError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def follow(names: Mapping[str, Any]) -> None:
        news = [Parameter(name, value=settings[name]) for name in names]
        node.set_parameters([one for one in news if one.value != _plain(node.get_parameter(one.name).value)])

    node.add_pre_set_parameters_callback(as_meant)
    node.add_on_set_parameters_callback(take)
    if later is not None:
        settings.heard.append(lambda values: later(follow, values))


def _require_steady_time(values: Mapping[str, Any]) -> None:
    if values.get("use_sim_time") is True:
        raise ConfigurationError(
            "use_sim_time is true: the arm is driven by this machine's steady clock, not by /clock; leave it false",
            "use_sim_time",
            True,
        )
