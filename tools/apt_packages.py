"""Install the Debian packages that tests of firmware, networks and page need, where allowed: what ``make apt`` runs.

Nothing is done, and no network needed, where they are all there.  Otherwise root, or sudo without a password, installs
them; anybody else reads in one line what to ask for.  Exit code 0 when everything is there at the end, else 1.

    python tools/apt_packages.py [avr] [host] [sim] [fuzz] [arduino] [network] [browser]      for these purposes; all without
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from picker_dynamics.board.firmware import packages

TIMEOUT_S = 900
PATIENCE = ("-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10", "-o", "Acquire::https::Timeout=10")


def say(text: str) -> None:
    print(f"firmware: {text}", file=sys.stderr, flush=True)


def as_root() -> list[str] | None:
    """What to put before a command that needs root: nothing, or sudo; None where neither will do."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0:
        return ["sudo", "-n"]
    return None


def apt(prefix: list[str], *arguments: str) -> bool:
    """Run apt-get, silently; whether it succeeded."""
    command = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", *PATIENCE, *arguments]
    try:
        return (
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False).returncode == 0
        )
    except subprocess.TimeoutExpired:
        return False


def install(prefix: list[str], wanted: list[str]) -> None:
    """Install these packages; the package lists are fetched only where the machine's do not do."""
    say(f"installing {' '.join(wanted)}")
    options = ("install", "-y", "--no-install-recommends")
    if not apt(prefix, *options, *wanted):
        apt(prefix, "update")
        apt(prefix, *options, *wanted)


def main(needs: list[str]) -> int:
    wanted = packages.missing_packages(*needs)
    prefix = as_root() if wanted and shutil.which("apt-get") else None
    if prefix is not None:
        install(prefix, list(wanted.values()))
        wanted = packages.missing_packages(*needs)
    if wanted:
        say(packages.missing(*needs))
    return 1 if wanted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
