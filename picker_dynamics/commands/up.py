"""``picker up``: bring-up of board (or its simulation) and nodes as plain processes, until Ctrl-C."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import fields

from picker_dynamics.board.session import first_command
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.options import CHOICES, Options
from picker_dynamics.errors import LinkError
from picker_dynamics.lifeline import hear_signals

from . import options as shared

TEXTS = {
    "--params-file": "ROS parameter file (default: config/picker.yaml)",
    "--scene": "objects around the arm (like config/scene.yaml), for collision checks",
    "--cameras": "hand-eye transforms for --pick (like config/cameras.yaml)",
}
SWITCHES = {
    "--collision": "check collisions with the arm itself and the floor",
    "--markers": "publish markers for RViz and Foxglove",
    "--pick": "serve the pick requests of a camera node, as picker pick --listen does",
}


def add_parser(commands) -> None:
    """Register ``up``; what its options are called here is a field of ``Options``."""
    up = commands.add_parser("up", help="start board (or simulation) and arm; Ctrl-C ends them")
    where = up.add_mutually_exclusive_group()
    where.add_argument("--sim", action="store_true", help="simulated board and arm (default)")
    shared.add(where, "--port")
    shared.add(up, "--board", "--arm", "--urdf", "--arms", "--servos", "--servo-overlay", "--seed", "--servo", "--view")
    shared.add(up, "--namespace", help="ROS namespace; two arms side by side need two")
    error = "largest relative error of the simulated arm, 0 to 0.5 (default 0: as its URDF)"
    shared.add(up, "--plant-error", type=shared.number(0.0, 0.5), help=error)
    speed = "largest speed of the tip [m/s] (default 0.25)"
    shared.add(up, "--tip-speed", type=shared.number(0.01, 2.0), dest="tip_speed_limit", help=speed)
    shared.add(up, "--payload", dest="payload_mass")
    rate = "control rate, 10 to 200; torque-controlled arms up to 500 (default 100)"
    up.add_argument("--rate", type=shared.number(10.0, 500.0), default=None, metavar="HZ", dest="rate_hz", help=rate)
    up.add_argument("--compensation", default="", choices=CHOICES["compensation"][1:], help="default: from the parameter file")
    up.add_argument("--log-level", default="info", choices=CHOICES["log_level"], help="log level of the nodes")
    at_end = "what the arm does at Ctrl-C (default: from the parameter file)"
    up.add_argument("--on-shutdown", default="", choices=CHOICES["on_shutdown"][1:], help=at_end)
    for flag, text in TEXTS.items():
        up.add_argument(flag, default="", help=text)
    for flag, text in SWITCHES.items():
        up.add_argument(flag, action="store_true", help=text)


def run(options) -> int:
    """Start the graph and wait for a signal that ends it; a second one hurries."""
    from picker_dynamics.bringup.runner import GraphRunner
    from picker_dynamics.session import address
    from picker_dynamics.session.remote import RemoteSession

    stop, runners, ready = list[int](), list[GraphRunner](), ""

    def hear(received: int) -> None:
        stop.append(received)
        if len(stop) > 1:
            for runner in runners:
                runner.hurry()

    def ended() -> bool:
        """Whether somebody ends it; says once what to begin with, when goals are taken or a person has to enable the arm."""
        nonlocal ready
        with suppress(LinkError):  # it has not come up yet, or has just ended: the runner notices that
            if not ready:
                with RemoteSession(options.namespace) as client:
                    ready = first_command(client.hardware, client.controller)
                if ready:
                    here = rf"\g<0> --namespace {options.namespace}" if options.namespace else r"\g<0>"
                    print(f"ready: {re.sub(r'picker [a-z]+', here, ready)}", flush=True)
        return bool(stop)

    hear_signals(hear)
    chosen = {one.name: getattr(options, one.name) for one in fields(Options) if hasattr(options, one.name)}
    wanted = Options(hardware="serial" if options.port else "sim", **chosen)
    address.require_free(wanted.namespace)
    if options.view:
        from picker_dynamics.scripting.view.server import require_page

        require_page()
    graph = bringup.graph(wanted)
    what = f"{'simulated ' if graph.board else ''}board at {graph.port}" if graph.port else "simulated arm"
    print("\n".join([*graph.notes, f"{what}; Ctrl-C ends"]), flush=True)
    with GraphRunner(graph) as runner:
        runners.append(runner)
        runner.wait(ended)
    return 0
