"""Write the tables of docs/ros.md and ros_parameters.md anew from running nodes: ``python tools/ros_reference.py``.

Parameters are written as the nodes declare them.  Of topics and services the last column, what they are for, is written by
hand and stays; a new one gets ``?`` there.  Without control_msgs the actions and topics that need it stay as they are.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import rclpy
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

from picker_dynamics.bringup.bringup import Graph, Process
from picker_dynamics.bringup.runner import GraphRunner

DOCS = [Path(__file__).resolve().parent.parent / "docs" / name for name in ("ros.md", "ros_parameters.md")]
PATIENCE_S = 60.0
SERVO, TORQUE = "servo", "torque"
PARTS = ("trajectory_controller", "dynamics", "hardware")
SPECS = tuple(
    Process(f"{namespace}/{name}", f"picker_dynamics.nodes.{name}", ["--ros-args", "-r", f"__ns:=/{namespace}", *more])
    for name, namespace, more in (
        ("arm", SERVO, ()),
        ("markers", SERVO, ()),
        ("arm", TORQUE, ("-p", 'trajectory_controller:control:="torque"')),
    )
)
OF_SERVO_ARM = (*PARTS, "markers")
NODES = (*((name, SERVO) for name in OF_SERVO_ARM), *((name, TORQUE) for name in PARTS))
PARAMETERS = {name: (name, SERVO) for name in OF_SERVO_ARM} | {f"{name}_torque": (name, TORQUE) for name in PARTS[1:]}
"""Table of parameters -> node and namespace."""
EVERYWHERE = (
    "rosout",
    "parameter_events",
    "use_sim_time",
    "rcl_interfaces",
    "type_description_interfaces",
    "start_type_description_service",
)
TYPES = {
    ParameterType.PARAMETER_BOOL: "bool",
    ParameterType.PARAMETER_INTEGER: "int",
    ParameterType.PARAMETER_DOUBLE: "double",
    ParameterType.PARAMETER_STRING: "string",
    ParameterType.PARAMETER_DOUBLE_ARRAY: "double[]",
    ParameterType.PARAMETER_STRING_ARRAY: "string[]",
}
HAVE_CONTROL_MSGS = importlib.util.find_spec("control_msgs") is not None
CONDITION = " (with control_msgs)"
HEADS = {
    "topics": ("topic", "type", "published by", "heard by", "QoS", "what it is"),
    "services": ("service", "type", "node", "what it does"),
    "actions": ("action", "type", "node", "what it does"),
    "parameters": ("parameter", "type", "default", "range", "when", "what it is"),
}
BLOCK = re.compile(r"<!-- (topics|services|actions|parameters)(?:: (\w+))? -->\n(.*?)<!-- end -->", re.S)

Row = tuple[str, ...]


class Looker(Node):
    """Asks nodes what they offer."""

    def __init__(self):
        super().__init__("looker")

    def ask(self, kind, name: str, request):
        client = self.create_client(kind, name)
        if not client.wait_for_service(PATIENCE_S):
            raise RuntimeError(f"no service {name}")
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self, future, timeout_sec=PATIENCE_S)
        self.destroy_client(client)
        return future.result()

    def parameter_rows(self, node: str, namespace: str) -> list[Row]:
        """Name, type, default, range, when it can be set, description; as declared without any file."""
        where = f"/{namespace}/{node}"
        listed = self.ask(ListParameters, f"{where}/list_parameters", ListParameters.Request()).result.names
        names = sorted(name for name in listed if not _hidden(name))
        told = self.ask(DescribeParameters, f"{where}/describe_parameters", DescribeParameters.Request(names=names)).descriptors
        values = self.ask(GetParameters, f"{where}/get_parameters", GetParameters.Request(names=names)).values
        return [
            (
                f"`{one.name}`",
                TYPES[one.type],
                f"`{_default(value)}`",
                _range(one),
                "start" if one.read_only else "any time",
                one.description,
            )
            for one, value in zip(told, values)
        ]

    def settle(self) -> None:
        """Until all nodes and their topics have been found, and nothing new has come for four seconds: in three, nobody
        else publishes robot_description."""
        wanted = {(node, f"/{namespace}") for node, namespace in NODES}
        deadline, before, since = time.monotonic() + PATIENCE_S, None, time.monotonic()
        while time.monotonic() < deadline:
            rclpy.spin_once(self, timeout_sec=0.1)
            now = (
                len(wanted & set(self.get_node_names_and_namespaces())),
                self.get_topic_names_and_types(),
                self.get_service_names_and_types(),
            )
            if now != before:
                before, since = now, time.monotonic()
            elif now[0] == len(wanted) and time.monotonic() > since + 4.0:
                return
        raise RuntimeError("the nodes were not found in time")

    def topic_rows(self) -> list[Row]:
        """Name, type, publishers, subscribers, QoS of those of a servo arm."""
        found: dict[str, tuple[str, set, set]] = {}
        for node in OF_SERVO_ARM:
            of_node = ((1, self.get_publisher_names_and_types_by_node), (2, self.get_subscriber_names_and_types_by_node))
            for column, lookup in of_node:
                for name, kinds in lookup(node, f"/{SERVO}"):
                    if not _hidden(name):
                        found.setdefault(name, (kinds[0], set(), set()))[column].add(node)
        return sorted(
            (f"`{_short(name)}`", kind.replace("/msg/", "/"), ", ".join(sorted(out)), ", ".join(sorted(into)), self.qos(name))
            for name, (kind, out, into) in found.items()
        )

    def qos(self, topic: str) -> str:
        ends = self.get_publishers_info_by_topic(topic) or self.get_subscriptions_info_by_topic(topic)
        profile = ends[0].qos_profile
        return f"{profile.reliability.name.lower().replace('_', ' ')}, {profile.durability.name.lower().replace('_', ' ')}"

    def service_rows(self) -> list[Row]:
        return sorted(
            (f"`{_short(name)}`", kinds[0].replace("/srv/", "/"), node)
            for node in OF_SERVO_ARM
            for name, kinds in self.get_service_names_and_types_by_node(node, f"/{SERVO}")
            if not _hidden(name) and not kinds[0].startswith(EVERYWHERE) and "/_action/" not in name
        )

    def action_rows(self) -> list[Row]:
        return sorted(
            (f"`{_short(name)}`", kinds[0].replace("/action/", "/"), node)
            for node in OF_SERVO_ARM
            for name, kinds in get_action_server_names_and_types_by_node(self, node, f"/{SERVO}")
        )


def collect() -> dict[tuple[str, str], list[Row]]:
    """The rows of every table, without what is written by hand: (kind, node) -> rows."""
    rclpy.init()
    looker = Looker()
    try:
        with tempfile.TemporaryDirectory() as folder, GraphRunner(Graph(SPECS), log_path=Path(folder) / "log"):
            looker.settle()
            parameters = {("parameters", table): looker.parameter_rows(*node) for table, node in PARAMETERS.items()}
            return parameters | {
                ("topics", ""): looker.topic_rows(),
                ("services", ""): looker.service_rows(),
                ("actions", ""): looker.action_rows(),
            }
    finally:
        looker.destroy_node()
        rclpy.try_shutdown()


def rows_of(text: str) -> list[Row]:
    """The cells of a table, without its heading."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [tuple(cell.strip() for cell in line.removeprefix("|").removesuffix("|").split(" | ")) for line in lines[1:]]


def tables(doc: str) -> dict[tuple[str, str], list[Row]]:
    """The tables that are in the document."""
    return {(match[1], match[2] or ""): rows_of(match[3]) for match in BLOCK.finditer(doc)}


def needs_control_msgs(row: Row) -> bool:
    return "control_msgs/" in row[1]


def as_it_should_be(kind: str, found: list[Row], old: list[Row]) -> list[Row]:
    """The rows of a table: what was found, with what somebody wrote about it.

    Without control_msgs, what depends on it stays as it was: whole rows, and nodes with ``(with control_msgs)`` behind them.
    """
    if kind == "parameters":
        return found
    before = {row[0]: row for row in old}
    rows = []
    for row in found:
        was = before.get(row[0], ("?",))
        if kind == "topics" and len(was) > 3:
            row = (*row[:2], _nodes(row[2], was[2]), _nodes(row[3], was[3]), *row[4:])
        rows.append((*row, was[-1]))
    return rows if HAVE_CONTROL_MSGS else sorted(rows + [row for row in old if needs_control_msgs(row)])


def _nodes(found: str, was: str) -> str:
    conditional = {one.removesuffix(CONDITION): one for one in was.split(", ") if one.endswith(CONDITION)}
    names = {one for one in found.split(", ") if one} | (set() if HAVE_CONTROL_MSGS else set(conditional))
    return ", ".join(conditional.get(name, name) for name in sorted(names))


def written(doc: str, found: dict[tuple[str, str], list[Row]]) -> str:
    """The document with its tables as they should be."""

    def table(match) -> str:
        key = match[1], match[2] or ""
        rows = as_it_should_be(match[1], found[key], rows_of(match[3]))
        lines = [HEADS[match[1]], ("---",) * len(HEADS[match[1]]), *rows]
        name = f"{match[1]}: {match[2]}" if match[2] else match[1]
        return f"<!-- {name} -->\n" + "".join(f"| {' | '.join(row)} |\n" for row in lines) + "<!-- end -->"

    return BLOCK.sub(table, doc)


def _hidden(name: str) -> bool:
    return name.split("/")[-1] in EVERYWHERE or name.split(".")[0] in EVERYWHERE or "/_action/" in name


def _short(name: str) -> str:
    return name.removeprefix(f"/{SERVO}/")


def _default(value) -> str:
    plain = parameter_value_to_python(value)
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, str):
        return f'"{plain}"'
    return str(list(plain)) if hasattr(plain, "tolist") or isinstance(plain, (list, tuple)) else str(plain)


def _range(descriptor) -> str:
    for one in (*descriptor.floating_point_range, *descriptor.integer_range):
        return " to ".join(f"{end:g}" if isinstance(end, float) else str(end) for end in (one.from_value, one.to_value))
    return ""


def main() -> int:
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", "100")
    found = collect()
    for doc in DOCS:
        doc.write_text(written(doc.read_text(encoding="utf-8"), found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
