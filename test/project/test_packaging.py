"""The package as colcon, pip and import-linter see it."""

import ast
import json
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package
from packaging.requirements import Requirement
from places import ROOT
from waiting import python

import picker_dynamics
from picker_dynamics.nodes import executables
from picker_dynamics.scripting.view.server import PAGE

SHARED = ("urdf", "config", "launch", "rviz", "firmware")
FEW = ("test/robot/test_joint_order.py", "test/trajectory/test_profiles.py", "test/bringup/test_launch_testing.py")
PYTHONS = ("3.10", "3.13")
HEAVY = {"PIL", "coal", "cv2", "matplotlib", "mcap", "mujoco", "pinocchio", "rosbags", "scipy", "urchin"}

# Imported name -> rosdep key, where they differ; None: not in rosdep, an extra of setup.py.
ROSDEP_KEYS = {
    "PIL": "python3-pil",
    "cv2": None,
    "lz4": None,
    "matplotlib": "python3-matplotlib",
    "mcap": None,
    "mujoco": None,
    "numpy": "python3-numpy",
    "rich": "python3-rich",
    "rosbags": None,
    "scipy": "python3-scipy",
    "serial": "python3-serial",
    "tf2_ros": "tf2_ros_py",
    "urchin": None,
    "yaml": "python3-yaml",
    "zstandard": None,
}


def run(*command, **options) -> str:
    """Standard output of a command that has to succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **{"cwd": ROOT} | options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def colcon(scratch: Path, verb: str, *options) -> str:
    """Run a verb of colcon on this package, in a workspace of its own; what it printed."""
    spaces = (f"--{name}-base={scratch / name}" for name in (("build", "install") if verb in ("build", "test") else ()))
    return run(sys.executable, "-m", "colcon", "--log-base", scratch / "log", verb, "--base-paths", ROOT, *spaces, *options)


@pytest.fixture(scope="module")
def setup_data() -> dict:
    """What setup.py hands to setuptools."""
    script = (
        "import json, setuptools; from distutils.core import run_setup; "
        "d = run_setup('setup.py', stop_after='init'); "
        "print(json.dumps({'version': d.get_version(), 'license': d.get_license(), "
        "'entry_points': d.entry_points, 'extras': d.extras_require, 'requires': d.install_requires}))"
    )
    return json.loads(run(sys.executable, "-c", script))


@pytest.fixture(scope="module")
def manifest():
    """package.xml, as the ROS tools parse it; a warning of theirs is an error here."""
    warnings: list[str] = []
    package = parse_package(ROOT / "package.xml", warnings=warnings)
    assert warnings == []
    return package


def entry_points(setup_data) -> dict[str, tuple[str, str]]:
    """Executable -> (module, function)."""
    pairs = (line.split(" = ") for line in setup_data["entry_points"]["console_scripts"])
    return {name: tuple(target.split(":")) for name, target in pairs}


def shared_files() -> set[str]:
    return {
        str(path.relative_to(ROOT))
        for folder in SHARED
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def imported_packages(*folders: str) -> dict[str, set[str]]:
    """Top-level package -> files that import it, wherever in the file that is."""
    found: dict[str, set[str]] = {}
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for name in names:
                found.setdefault(name.split(".")[0], set()).add(str(path.relative_to(ROOT)))
    return {name: files for name, files in found.items() if name not in sys.stdlib_module_names}


def test_import_contracts_hold():
    run(sys.executable, "-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))")


def test_package_xml_declares_every_import(manifest):
    declared = {dependency.name for dependency in manifest.exec_depends}
    imported = set(imported_packages("picker_dynamics", "launch")) - {"picker_dynamics"}
    needed = {ROSDEP_KEYS.get(name, name) for name in imported} - {None}
    assert needed - declared == set()


def test_one_version_and_one_licence(manifest, setup_data):
    assert manifest.version == setup_data["version"] == picker_dynamics.__version__
    assert f"\nversion: {picker_dynamics.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert setup_data["license"] == "Apache-2.0" == manifest.licenses[0]
    assert "Apache License" in (ROOT / manifest.licenses[0].file).read_text()


def test_colcon_installs_data_files_and_executables_and_runs_the_tests(tmp_path, setup_data):
    colcon(tmp_path, "build")
    installed = tmp_path / "install" / "picker_dynamics"
    share = installed / "share" / "picker_dynamics"
    files = {str(path.relative_to(share)) for path in share.rglob("*") if path.is_file()}
    assert {"urdf/picker.urdf", "config/servos.yaml", "firmware/Makefile"} <= shared_files() <= files and "package.xml" in files
    assert (installed / "share/ament_index/resource_index/packages/picker_dynamics").is_file()
    assert {path.name for path in (installed / "lib" / "picker_dynamics").iterdir()} == set(entry_points(setup_data))
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "picker_dynamics").rglob("*.py")}
    site = next((installed / "lib").glob("python3*")) / "site-packages"
    assert modules == {str(path.relative_to(site)) for path in (site / "picker_dynamics").rglob("*.py")}
    page = site / PAGE.relative_to(ROOT)
    assert {path.name: path.read_bytes() for path in PAGE.glob("*")} == {path.name: path.read_bytes() for path in page.glob("*")}
    colcon(tmp_path, "test", "--pytest-args", *FEW, " -p", "no:launch_testing", " -p", "no:launch_ros")
    done = python("-m", "colcon", "--log-base", tmp_path / "log", "test-result", "--test-result-base", tmp_path / "build")
    ran, *failed = map(int, re.search(r"Summary: (\d+) tests?, (\d+) errors?, (\d+) failures?", done.stdout).groups())
    assert ran > 10 and failed == [0, 0] and done.returncode == 0


@pytest.mark.skipif(not (PAGE / "index.html").is_file(), reason="the page of picker view is not built: make setup")
def test_the_wheel_carries_the_page_and_the_licences_of_what_is_in_it(tmp_path):
    places = ("egg_info", "--egg-base", tmp_path, "build", "--build-base", tmp_path / "build")
    wheel = ("bdist_wheel", "--bdist-dir", tmp_path / "bdist", "--dist-dir", tmp_path)
    run(sys.executable, "setup.py", "-q", *map(str, (*places, *wheel)))
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as made:
        names, folder = set(made.namelist()), PAGE.relative_to(ROOT).as_posix()
        licences = made.read(f"{folder}/licences.txt").decode()
    assert {"picker_dynamics/py.typed", *(f"{folder}/{path.name}" for path in PAGE.iterdir())} <= names
    bundled = json.loads((ROOT / "web" / "package.json").read_text())["dependencies"]
    assert all(f"{name} {version}" in licences for name, version in bundled.items()) and "Copyright" in licences


@pytest.mark.parametrize(
    "executable, allowed",
    [
        ("picker", set()),
        ("arm", {"pinocchio", "coal"}),
        ("dynamics", {"pinocchio", "coal"}),
        ("hardware", {"pinocchio", "coal"}),
        ("markers", {"pinocchio", "coal"}),
        ("virtual_board", {"mujoco"}),
    ],
)
def test_executables_start_without_heavy_imports(setup_data, executable, allowed):
    module, function = entry_points(setup_data)[executable]
    script = f"import sys, {module} as m; assert callable(m.{function}); print(*sys.modules)"
    if module.endswith(".executables"):  # which load what they start when they are called
        started = f"picker_dynamics.{executables.MAINS[function][0]}"
        script = f"import sys, {started} as m; assert callable(m.{executables.MAINS[function][1]}); print(*sys.modules)"
    loaded = run(sys.executable, "-c", script)
    assert HEAVY & set(loaded.split()) <= allowed


def test_ctrl_c_while_an_executable_is_loaded_ends_it_without_a_traceback():
    interrupt = "m.import_module = lambda _name: os.kill(os.getpid(), signal.SIGINT)"
    script = f"import os, signal, picker_dynamics.nodes.executables as m; {interrupt}; m.hardware()"
    done = python("-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def pins(constraints: str, python: str) -> dict[str, Requirement]:
    """Package -> its pin in that file for that Python."""
    lines = (ROOT / "constraints" / constraints).read_text().splitlines()
    requirements = [Requirement(line.removesuffix("\\")) for line in lines if line[0] not in "# "]
    here = {"python_version": python, "python_full_version": f"{python}.0"}
    applying = [r for r in requirements if r.marker is None or r.marker.evaluate(here)]
    assert len({r.name for r in applying}) == len(applying), f"{constraints}: pinned twice for {python}"
    return {r.name: r for r in applying}


@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_is_pinned(setup_data, python):
    pinned = pins("wheels.txt", python) | pins("docs.txt", python)
    wanted = (setup_data["requires"], *setup_data["extras"].values())
    for requirement in (Requirement(line) for lines in wanted for line in lines):
        pin = pinned[requirement.name.lower()]
        exact, version = str(pin.specifier)[:2], str(pin.specifier)[2:]
        assert exact == "==" and requirement.specifier.contains(version), f"{requirement}: {pin}"
    assert pinned["setuptools"].specifier == Requirement("setuptools==79.0.1").specifier
