"""``picker view``: the arm that runs on a page in the browser, served on this machine, to look at and to drive."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from picker_dynamics.errors import ConfigurationError, LinkError
from picker_dynamics.lifeline import end_with_parent, hear_signals

from . import options as shared

PORT = 8642
"""Where the page is looked for first; where that is taken, any other."""

LEAST_TOKEN = 16
LOOPBACK = "127.0.0.1", "localhost", "::1"

SWITCH_S = 1e-3
"""How long a thread that computes may keep Python from those that look and drive [s]."""


def add_parser(commands) -> None:
    """Register ``view``."""
    parser = commands.add_parser("view", help="show and drive the arm in the browser")
    shared.add(parser, "--namespace", "--arm", "--urdf", "--servos")
    parser.add_argument("recording", nargs="?", default="", metavar="FILE", help="recording to play (of picker record)")
    parser.add_argument(
        "--view-port", type=shared.whole(0, 65535), default=None, metavar="PORT", help=f"port of the page (default {PORT})"
    )
    host = "address of the page; others than this machine need --token (for an arm on another machine: PICKER_HOST=HOST:PORT)"
    parser.add_argument("--host", default="127.0.0.1", help=host)
    parser.add_argument("--token", default="", help="access token (default: a random one for each start)")
    shared.add(parser, "--wait")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def run(options) -> int:
    """Serve until Ctrl-C; returns the exit code."""
    require_safe(options.host, options.token)
    from picker_dynamics.scripting.view.server import require_page

    require_page()  # before anybody waits for a graph
    stop: list[int] = []
    view: Any
    hear_signals(stop.append)
    end_with_parent()
    if options.recording:
        from picker_dynamics.scripting.view.recording import open_recording

        view, client = open_recording(options.recording, options.arm, options.urdf, options.servos), nullcontext()
    else:
        from picker_dynamics.scripting.view.arm_view import ArmView
        from picker_dynamics.session.remote import RemoteSession

        client = shared.waited_for(lambda: RemoteSession(options.namespace, *shared.reached()), options.wait, lambda: bool(stop))
        if client is None:
            return 0
        sys.setswitchinterval(SWITCH_S)
        folder = Path(options.urdf).resolve().parent if options.urdf else ""
        view = ArmView(shared.equipment(client), client, folder)
    with client, served(view, options) as server:
        print(f"view: {server.door.address}", flush=True)
        if options.host not in LOOPBACK:
            print("view: anyone with the token can drive the arm; nothing is encrypted: use a trusted network", flush=True)
        if not options.no_browser:
            webbrowser.open(server.door.address)
        view.run(lambda: bool(stop))
    return 0


def served(view, options):
    """Server of the page; on any port where nobody chose one and the usual is taken."""
    from picker_dynamics.scripting.view.server import ViewServer

    try:
        return ViewServer(view, options.host, PORT if options.view_port is None else options.view_port, options.token)
    except LinkError:
        if options.view_port is not None:
            raise
        return ViewServer(view, options.host, 0, options.token)


def require_safe(host: str, token: str) -> None:
    """Raise a ConfigurationError where the page would be open to others without a token of its own."""
    if host not in LOOPBACK and len(token) < LEAST_TOKEN:
        text = (
            f"--host {host} lets others reach the page: give --token, {LEAST_TOKEN} characters or more "
            "(for an arm on another machine: PICKER_HOST)"
        )
        raise ConfigurationError(text, "token", len(token), LEAST_TOKEN)
