"""``picker up``: bring-up of board (or its simulation) and nodes as plain processes, until Ctrl-C."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields

from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.options import COMPENSATION, ON_SHUTDOWN, Options
from picker_dynamics.errors import LinkError
from picker_dynamics.session.facts import first_command

from . import options as shared

LOOK_S = 0.02
"""How often an arm that starts is looked at [s]."""


def add_parser(commands) -> None:
    """Register ``up``; what its options are called here is a field of ``Options``."""
    up = commands.add_parser("up", help="start the board (or its simulation) and the process of the arm; Ctrl-C ends them")
    where = up.add_mutually_exclusive_group()
    where.add_argument("--sim", action="store_true", help="virtual board and arm (the default)")
    shared.add(where, "--port")
    shared.add(up, "--board", "--arm", "--urdf", "--arms", "--servos", "--servo-overlay")
    up.add_argument("--params-file", default="", help="ROS parameter file (default: config/picker.yaml)")
    shared.add(up, "--namespace", help="ROS namespace; two arms side by side need two")
    up.add_argument("--compensation", default="", choices=("", *COMPENSATION), metavar="MODE", help="none, gravity or full")
    up.add_argument("--payload-mass", type=shared.ANY, default=None, metavar="KG")
    up.add_argument(
        "--rate",
        type=shared.ANY,
        default=None,
        metavar="HZ",
        dest="rate_hz",
        help="rate of the reference, 10 to 200; of a torque-controlled arm to 500 (default 100)",
    )
    shared.add(up, "--tip-speed", dest="tip_speed_limit", help="largest speed of the tip (default 0.25)")
    up.add_argument(
        "--on-shutdown",
        default="",
        choices=("", *ON_SHUTDOWN),
        metavar="WHAT",
        help="what the arm does at Ctrl-C: hold, park or relax",
    )
    up.add_argument(
        "--scene", default="", help="what stands about the arm, as config/scene.yaml: no motion may hit it, or the arm"
    )
    up.add_argument("--collision", action="store_true", help="the same without a scene: the arm itself and its floor")
    up.add_argument(
        "--srdf", default="", help="pairs of links that may touch (default: the SRDF beside the URDF, if there is one)"
    )
    shared.add(up, "--plant-error", help="simulate an arm that differs from its URDF")
    shared.add(up, "--seed", "--servo")
    up.add_argument("--markers", action="store_true", help="also publish what RViz and Foxglove show beside the model")
    shared.add(up, "--view")
    up.add_argument("--pick", action="store_true", help="also pick as a camera node says: picker pick --listen")
    up.add_argument("--cameras", default="", metavar="FILE", help="for --pick: hand-eye transforms, as config/cameras.yaml")
    up.add_argument("--log-level", default="info", choices=("debug", "info", "warn", "error"))
    up.set_defaults(run=run)


def run(options) -> int:
    """Start the graph and wait for a signal that ends it; a second one hurries."""
    from picker_dynamics.bringup.runner import GraphRunner
    from picker_dynamics.session import address

    stop, runners = [], []

    def hear(received, _frame) -> None:
        stop.append(received)
        if len(stop) > 1:
            for runner in runners:
                runner.hurry()

    ends = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is under nohup
        ends.append(signal.SIGHUP)
    for number in ends:
        signal.signal(number, hear)
    known = {one.name for one in fields(Options)}
    chosen = {name: value for name, value in vars(options).items() if name in known}
    wanted = Options(hardware="serial" if options.port else "sim", **chosen)
    address.require_free(wanted.namespace)
    if options.view:
        from picker_dynamics.scripting.view.server import require_page

        require_page()
    graph = bringup.graph(wanted)
    board = "virtual board" if options.board == "virtual" else "simulated Uno"
    what = (
        f"{board if graph.board else 'board'} at {graph.port}" if graph.port else f"simulated arm {options.arm or options.urdf}"
    )
    print("\n".join([*graph.notes, f"{what}; Ctrl-C ends"]), flush=True)
    with GraphRunner(graph) as runner, closing(until_ready(options.namespace)) as start:
        runners.append(runner)
        runner.wait(lambda: next(start, None) or bool(stop))
    return 0


def until_ready(namespace: str) -> Iterator[None]:
    """Look at an arm that starts, a moment each time; end when goals are taken or a person has to enable it, which is said."""
    from picker_dynamics.session.remote import RemoteSession

    client = None
    try:
        command = ""
        while not command:
            try:
                client = client or RemoteSession(namespace)
                command = first_command(client.hardware, client.controller)
            except LinkError:  # it has not come up yet, or has just ended: the runner notices that
                client = None
            if not command:
                yield time.sleep(LOOK_S)
    finally:
        if client is not None:
            client.close()
    if namespace:
        command = re.sub(r"picker [a-z]+", rf"\g<0> --namespace {namespace}", command)
    print(f"ready: {command}", flush=True)
