"""Make .venv, or bring it up to date: what ``make setup`` runs, with nothing but the standard library.

A stamp inside .venv says what it was made from.  Where that still holds, nothing is done and no network
is needed.  Where a ROS 2 with rclpy is sourced, .venv sees that rclpy; elsewhere it gets the wheels.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "made_from.json"
VENV_PYTHON = VENV / "bin" / "python"
SUPPORTED = ((3, 10), (3, 13))
THIS_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXTRAS = ["mujoco", "demo", "peer", "record", "camera", "test", "lint"]


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def imports(python: Path | str, module: str) -> str | None:
    """Where ``python`` imports ``module`` from, or None where it cannot."""
    try:
        done = subprocess.run(
            [python, "-c", f"import {module}; print({module}.__file__)"], capture_output=True, text=True, check=False
        )
    except OSError:  # no such interpreter, or a symbolic link to one that is gone
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def sourced_ros(python: Path | str) -> str:
    """Prefix of the sourced ROS 2 whose rclpy ``python`` imports; empty where none is sourced.

    A colcon workspace or the wheels in .venv are no ROS 2 of their own: rclpy must lie in the prefix.
    """
    prefixes = [
        path
        for path in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        if path and Path(path) != VENV and any(Path(path).glob("lib/python3*/site-packages/rclpy"))
    ]
    if not prefixes:
        return ""
    found = imports(python, "rclpy")
    if found is None:
        sys.exit(
            f"setup: ROS 2 is sourced from {prefixes[0]}, but {python} cannot import its rclpy: use "
            "the Python it was built for (make setup PYTHON=/usr/bin/python3), or a shell without ROS 2"
        )
    return next((path for path in prefixes if Path(path) in Path(found).parents), "")


def digest(ros: str) -> str:
    """One number for everything that decides what pip would install."""
    files = [ROOT / "setup.py", ROOT / "setup.cfg", constraints(ros), Path(__file__)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def constraints(ros: str) -> Path:
    return ROOT / "constraints" / ("ros.txt" if ros else "wheels.txt")


def create(ros: str) -> None:
    say(f"making .venv with Python {THIS_PYTHON}" + (f" on the ROS 2 in {ros}" if ros else ""))
    options = ["--clear"] + (["--system-site-packages"] if ros else [])
    if subprocess.run([sys.executable, "-m", "venv", *options, VENV], check=False).returncode:
        sys.exit("setup: Python cannot make a virtual environment (Debian, Ubuntu: apt install python3-venv)")


def install(ros: str) -> None:
    """Install the pinned requirements, each of which has to have one of its hashes, then this package (editable).

    Nothing else is fetched: with ROS, what is missing then is for rosdep to bring.
    """
    extras = EXTRAS + ([] if ros else ["ros"])
    if ros and imports(VENV_PYTHON, "pinocchio") is None:
        sys.exit(
            "setup: this ROS 2 has no Pinocchio, and the wheel needs NumPy 2: "
            "rosdep install --from-paths . --ignore-src, or apt install ros-jazzy-pinocchio"
        )
    pip = [VENV_PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    if not sys.stderr.isatty():
        pip.append("-q")
    say("installing the pinned packages (about 1.4 GB the first time: minutes on a slow line)")
    builders = VENV / "builders.txt"  # what builds the others, which could fetch anything where they build in isolation
    builders.write_text("".join(re.findall(r"^(?:pip|setuptools)==.*\n(?: .*\n)+", constraints(ros).read_text(), re.MULTILINE)))
    network = "see above; the first set-up needs the network, later ones do not"
    missing = (
        "rosdep install --from-paths . --ignore-src brings what is missing"
        if ros
        else "constraints/ lacks what setup.py asks for"
    )
    checked = ["--no-deps", "--no-build-isolation", "--require-hashes", "-r"]
    for what, problem in (
        ([*checked, builders], network),
        ([*checked, constraints(ros)], network),
        (["--no-index", "--no-build-isolation", "-e", f"{ROOT}[{','.join(extras)}]"], missing),
    ):
        if subprocess.run([*pip, *what], stdout=sys.stderr, check=False).returncode:
            sys.exit(f"setup: pip failed: {problem}")


def source(python: Path | str, version: str) -> dict[str, str]:
    """What an environment for that Python would be made from; where this differs, .venv is made anew."""
    return {"root": str(ROOT), "ros": sourced_ros(python), "python": version}


def main() -> None:
    have = json.loads(STAMP.read_text()) if STAMP.is_file() and imports(VENV_PYTHON, "pip") else {}
    installed = have.pop("digest", "")
    keep_python = bool(have) and "PYTHON" not in os.environ  # make hands PYTHON on only where it was given
    want = source(VENV_PYTHON, have["python"]) if keep_python else source(sys.executable, THIS_PYTHON)
    if have == want and installed == digest(want["ros"]):
        return
    if have.get("ros") and not want["ros"]:
        sys.exit(f"setup: .venv was made on the ROS 2 in {have['ros']}: source its setup.bash, or 'make clean' first")
    if have != want:
        if VENV.is_symlink():  # venv --clear would empty what it leads to
            sys.exit(f"setup: .venv is a symbolic link to the environment {VENV.resolve()}: remove the link first")
        if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
            sys.exit(f"setup: this is Python {THIS_PYTHON}, and 3.10 to 3.13 are supported: make setup PYTHON=python3.12")
        want = source(sys.executable, THIS_PYTHON)
        create(want["ros"])
        STAMP.write_text(json.dumps(want))
    install(want["ros"])
    STAMP.write_text(json.dumps({**want, "digest": digest(want["ros"])}))
    say("done")


if __name__ == "__main__":
    main()
