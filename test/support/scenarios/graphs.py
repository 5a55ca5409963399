"""Whole graphs: two side by side, and one of which a process dies.

What has a ``client`` and a ``board`` will do as an arm (ros_graph.Running, for one).
"""

from __future__ import annotations

import re
from typing import Protocol

from ros_client.client import ArmClient

from picker_dynamics.sim.control_socket import BoardControl

from .bench import Watch, at_home, ends, goal, moved, stands, start, start_swinging, until_base


class StartedGraph(Protocol):
    """A graph in the hands of the program that started it, `picker up` or `ros2 launch`."""

    client: ArmClient
    board: BoardControl
    failure: int
    """Exit code of that program when one of its processes dies."""

    def kill(self, name: str) -> None:
        """SIGKILL to a process of the graph."""

    def ended(self) -> tuple[int, str]:
        """Wait until the program has ended; its exit code, and all that it said."""

    def survivors(self) -> list[str]:
        """Processes that it started and that still run."""


def two_arms_do_not_disturb_each_other(here, there) -> None:
    """One is stopped and gets a payload while the other finishes its motion and hears nothing of it."""
    client, board = here.client, here.board
    at_home(client, board)
    theirs = start_swinging(there.client, there.board)
    mine = start(client, goal(moved(base=0.3), times=[3.0]))
    there.client.set_parameters("dynamics", payload__mass=0.02)
    there.client.switch("emergency_stop", True)
    ends(there.client, theirs, "aborted")
    ends(client, mine)
    until_base(client, board, 0.3)
    assert stands(there.client, there.board)[0] < 0.85
    assert client.hardware["state"] == "active" and theirs not in client.outcomes
    assert client.diagnostic("dynamics", "payload_kg") == 0.0
    assert there.client.diagnostic("dynamics", "payload_kg") == 0.02


def ends_when_a_process_dies(graph: StartedGraph, name: str) -> None:
    """Killed in mid-motion, node or board: the arm brakes as long as there is one, and all others end, with the reason."""
    at_home(graph.client, graph.board)
    with Watch(graph.board) as watch:
        start_swinging(graph.client, graph.board)
        graph.kill(name)
        code, said = graph.ended()
    assert code == graph.failure, said
    assert re.search(rf"{name}\S* (was ended by signal 9|ended by itself with exit code -9); stopping the others", said), said
    assert graph.survivors() == [] and "Traceback" not in said, said
    last = watch.samples[-1]
    assert last.q[0] < 0.85, "it did not go on to the end"
    assert set(last.faults) <= {"HOST_LOST"}, "nothing but that nobody is there any more"
