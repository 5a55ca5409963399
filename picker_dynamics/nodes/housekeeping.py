"""rclpy's own services of a node, for parameters above all: no request of theirs holds a reference up, or ends the node."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.service import Service

from picker_dynamics.errors import shown
from picker_dynamics.execution.worker import Worker

from .c_requests import CRequests, TooMuch

HOUSEKEEPING = ("rcl_interfaces", "lifecycle_msgs", "type_description_interfaces")
"""Packages whose services are rclpy's own, and can wait."""

OF_RCLPY = {"rclpy", *HOUSEKEEPING, *sys.stdlib_module_names}
"""Packages whose code those services are made of."""

MOST_ANSWERS = 1000
"""To so many parameters of a request that is refused, each has its own."""


def is_housekeeping(service) -> bool:
    return service.srv_type.__module__.split(".")[0] in HOUSEKEEPING


def is_about_parameters(service: Service) -> bool:
    return service.srv_type.__module__.startswith("rcl_interfaces.")


class HousekeepingServices:
    """Takes the requests about parameters beside a node's thread, looks at their size, and sets one parameter in a turn of it.

    Args:
        node: whose services they are.
        create_task: has the node's executor call something.

    Where rclpy is none we know, its services are left as they are.
    """

    def __init__(self, node: Node, create_task: Callable):
        self._create_task, self._log = create_task, node.get_logger()
        self._beside, self._busy = Worker(), set[Service]()
        self._requests: dict[Service, CRequests] = {}
        with contextlib.suppress(AttributeError, OSError, TypeError, ValueError):
            self._requests = {one: CRequests(one.handle, one.srv_type) for one in filter(is_about_parameters, node.services)}

    def idle(self, services: Iterable[Service]) -> list[Service]:
        """Services of a node that are to be waited for."""
        return [service for service in services if service not in self._busy]

    def begin(self, service: Service) -> bool:
        """Take a request that has come to a service; whether that is done here."""
        if service not in self._requests:
            return False
        self._busy.add(service)
        taken = self._beside(self._requests[service].take)
        taken.add_done_callback(lambda taken: self._create_task(self._carry_out, service, taken))
        return True

    def _carry_out(self, service: Service, taken: Future) -> None:
        identifier, request = taken.result()
        if identifier is None:
            self._busy.discard(service)
            return
        response = service.srv_type.Response()
        if isinstance(request, TooMuch):
            why = f"{service.srv_name}: {request.error}"
            self._log.error(why, throttle_duration_sec=1.0)
            self._answer(service, identifier, refused(response, why, range(min(request.entries, MOST_ANSWERS))))
        elif isinstance(request, SetParameters.Request):
            self._set_next(service, identifier, iter(request.parameters), response)
        else:
            self._answer(service, identifier, service.callback(request, response))

    def _set_next(self, service: Service, identifier, parameters, response: SetParameters.Response) -> None:
        """Set one, then let the node do what is due: what is under way may have to be looked at for each of them."""
        parameter = next(parameters, None)
        if parameter is None:
            self._answer(service, identifier, response)
            return
        response.results += service.callback(SetParameters.Request(parameters=[parameter]), SetParameters.Response()).results
        self._create_task(self._set_next, service, identifier, parameters, response)

    def _answer(self, service: Service, identifier, response) -> None:
        self._busy.discard(service)
        if not self._requests[service].answer(identifier, response):
            self._log.warning(f"{service.srv_name}: a response cannot be sent: its client may have gone")

    def close(self) -> None:
        """Close: what has not been taken never will; call it before the executor ends, which is handed what is taken just now."""
        self._beside.close(wait=True)


def refuse_what_cannot_be_served(node: Node) -> None:
    """Have rclpy's own services refuse a request that they cannot deal with: a parameter of type 99 would end the node."""
    for service in filter(is_housekeeping, node.services):
        service.callback = _refusing(service.callback, service.srv_name.split("/")[-1], node.get_logger())


def _refusing(carry_out: Callable, name: str, log) -> Callable:
    """Callback of a service that answers, unsuccessful or empty, and logs, where rclpy fails; what else fails goes on."""

    def answer(request, response):
        try:
            return carry_out(request, response)
        except Exception as error:
            if not _is_of_rclpy(error):
                raise
            why = shown(f"{name}: no such request can be served: {type(error).__name__}: {error}")
            log.error(why)
            return refused(response, why, getattr(request, "parameters", ()))

    return answer


def refused(response, why: str, parameters: Iterable = ()):
    """The response that refuses a request, unsuccessful or empty; some of its ``parameters`` may have been set before."""
    result = SetParametersResult(successful=False, reason=why)
    if isinstance(response, SetParameters.Response):
        response.results += [result] * (len(list(parameters)) - len(response.results))
        return response
    return type(response)(result=result) if isinstance(response, SetParametersAtomically.Response) else type(response)()


def _is_of_rclpy(error: Exception) -> bool:
    """Whether an exception came, behind the one who caught it, through code of rclpy alone, and through none of the node."""
    behind = error.__traceback__.tb_next if error.__traceback__ is not None else None
    return all(frame.f_globals.get("__name__", "").split(".")[0] in OF_RCLPY for frame, _ in traceback.walk_tb(behind))
