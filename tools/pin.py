"""Write constraints/ anew, with the hashes that ``make setup`` checks: ``python tools/pin.py``, ``--upgrade`` for newer versions.

uv resolves setup.py's extras for all Pythons at once, in an environment of its own, without installing them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints"
BUILD = ["pip", "setuptools>=70.1,<80"]  # colcon-core and --symlink-install end at setuptools 80
WHEELS_HEADER = "# Written by tools/pin.py: Linux without ROS 2, Python 3.10 to 3.13.\n"
ROS_HEADER = "# Written by tools/pin.py: Ubuntu 24.04 with ROS 2 Jazzy.  What rosdep brings stays as Ubuntu and ROS have it.\n"
DOCS_HEADER = "# Written by tools/pin.py: what make docs adds to .venv.\n"
INSTALLED = ("numpy", "pyserial", "pyyaml", "scipy")
"""What every .venv has."""

FROM_UBUNTU = (
    "contourpy",
    "cycler",
    "fonttools",
    "kiwisolver",
    "lxml",
    "matplotlib",
    "numpy",
    "packaging",
    "pillow",
    "pyparsing",
    "pyserial",
    "python-dateutil",
    "pyyaml",
    "scipy",
    "six",
)


def pin(uv: Path, name: str, header: str, extras: str, more: list[str], options: list[str]) -> None:
    """Write constraints/``name``: what setup.py with its extras and ``more`` needs, a version and its hashes each."""
    path = CONSTRAINTS / name
    command = [uv, "pip", "compile", "-q", "--universal", "--generate-hashes", "--no-header", "--no-annotate", "-o", path]
    command += [*options, *(f"--extra={extra}" for extra in extras.split()), "setup.py", "-"]
    subprocess.run(command, input="\n".join(more), text=True, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    path.write_text(header + path.read_text())


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        uv = Path(folder) / "bin" / "uv"
        subprocess.run([uv.with_name("python"), "-m", "pip", "-q", "install", "uv"], check=True)
        every = ["--python-version=3.10", *arguments]
        pin(uv, "wheels.txt", WHEELS_HEADER, "ros mujoco demo peer record camera test lint", BUILD, every)
        same = ["-c", str(CONSTRAINTS / "wheels.txt"), *(f"--no-emit-package={one}" for one in INSTALLED)]
        pin(uv, "docs.txt", DOCS_HEADER, "docs", [], [*every, *same])
        pins = re.findall(r"^[\w.-]+==[^\\\n]+", (CONSTRAINTS / "wheels.txt").read_text(), re.MULTILINE)
        alike = Path(folder) / "alike.txt"  # the same versions as without ROS, of what is not Ubuntu's
        other = (*FROM_UBUNTU, "opencv-python-headless")  # its later versions need NumPy 2
        alike.write_text("\n".join(one for one in pins if one.split("==")[0] not in other))
        omitted = [f"--no-emit-package={package}" for package in FROM_UBUNTU]
        ubuntu = ["--python-version=3.12", "-c", str(alike), *omitted, *arguments]
        # NumPy as ROS's Pinocchio was built with it
        pin(uv, "ros.txt", ROS_HEADER, "mujoco peer record camera lint", [*BUILD, "import-linter", "numpy<2"], ubuntu)


if __name__ == "__main__":
    main(sys.argv[1:])
