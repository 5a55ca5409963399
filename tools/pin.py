"""Write constraints/ anew: ``python tools/pin.py python3.10 python3.11 python3.12 python3.13``.

Each Python resolves setup.py's extras on its own, without installing them; versions that differ get a marker.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints"
BUILD = ["pip", "setuptools>=70.1,<80"]  # colcon-core and --symlink-install end at setuptools 80
WHEELS = [f"{ROOT}[ros,sim,demo,fast,peer,record,test,lint]", *BUILD]
WHEELS_HEADER = """\
# Written by tools/pin.py: Linux without ROS 2, Python 3.10 to 3.13.
"""
ROS_PYTHON = "3.12"  # Ubuntu 24.04
ROS = [f"{ROOT}[sim,fast,peer,record,lint]", "import-linter", "numpy<2", *BUILD]
FROM_UBUNTU = {
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
}
ROS_HEADER = """\
# Written by tools/pin.py: Ubuntu 24.04 with ROS 2 Jazzy.  What rosdep brings stays as Ubuntu and ROS have it:
numpy<2
# ... for ROS's Pinocchio, built against NumPy 1; and launch_testing's plug-in uses what pytest 9 took away:
pytest<9
"""


def resolve(python: str, requirements: list[str]) -> tuple[str, dict[str, str]]:
    """(minor version, {package: version}) of everything ``python`` would install."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "-q", "install"]
        subprocess.run([*pip, "--upgrade", "pip"], check=True)
        report = Path(folder) / "report.json"
        pip += ["--dry-run", "--ignore-installed", "--report", report]
        subprocess.run([*pip, *requirements], check=True)
        found = json.loads(report.read_text())
    packages = (item["metadata"] for item in found["install"] if "dir_info" not in item["download_info"])
    versions = {package["name"].lower().replace("_", "-"): package["version"] for package in packages}
    return found["environment"]["python_version"], versions


def lines(resolved: dict[str, dict[str, str]]) -> list[str]:
    """One pin a package, or one for every version with the Pythons that it is for."""
    pins = []
    for name in sorted(set().union(*resolved.values())):
        minors: dict[str, list[str]] = {}
        for minor, packages in resolved.items():
            if name in packages:
                minors.setdefault(packages[name], []).append(minor)
        for version, group in minors.items():
            marker = " or ".join(f'python_version == "{minor}"' for minor in group)
            marker = "" if group == list(resolved) else f"; {marker}"
            pins.append(f"{name}=={version}{marker}\n")
    return pins


def main(pythons: list[str]) -> None:
    wheels = dict(resolve(python, WHEELS) for python in pythons)
    (CONSTRAINTS / "wheels.txt").write_text(WHEELS_HEADER + "".join(lines(wheels)))
    on_ros = pythons[list(wheels).index(ROS_PYTHON)]
    minor, versions = resolve(on_ros, ROS)
    pinned = {name: version for name, version in versions.items() if name not in FROM_UBUNTU}
    (CONSTRAINTS / "ros.txt").write_text(ROS_HEADER + "".join(lines({minor: pinned})))


if __name__ == "__main__":
    main(sys.argv[1:])
