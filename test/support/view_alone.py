"""The page of a simulated arm in a headless Chromium, and what asked for anything beyond this machine meanwhile, as JSON.

To be run in a network namespace of its own: there the kernel counts what had nowhere to go.
"""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import view_pages

from picker_dynamics import Arm


def without_route() -> int:
    """How often somebody in this namespace wanted to reach a machine to which there is no way."""
    names, values = (line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:"))
    six = dict(line.split() for line in Path("/proc/net/snmp6").read_text().splitlines())
    return int(dict(zip(names, values))["OutNoRoutes"]) + int(six["Ip6OutNoRoutes"])


def main() -> None:
    with Arm.simulated() as arm, arm.view(browser=False) as view:
        thread = threading.Thread(target=view.run, daemon=True)
        thread.start()
        page = view_pages.Page(view.server)
        for path in ("/", "/api/arm"):
            assert page.ask(path)[0] == 200
        page.done("home")
        found = {"without_route_by_the_server": without_route()}
        with view_pages.chromium() as browser, view_pages.Tabs(browser, view.address) as tabs:
            shown = view_pages.with_arm(tabs())
            view_pages.shows(shown, "#phase", "holding")
            here = urlsplit(view.address)[:2]
            found["asked"], found["failed"] = len(shown.asked), shown.failed
            found["elsewhere"] = [url for url in shown.asked if urlsplit(url)[:2] != here]
        view.close()
        thread.join()
    print(json.dumps(found | {"interfaces": [name for _, name in socket.if_nameindex()]}))


if __name__ == "__main__":
    main()
