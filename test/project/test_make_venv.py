"""When `make setup` does nothing, and which ROS 2 it finds."""

import sys
from pathlib import Path

import pytest
from places import ROOT, loaded


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """tools/make_venv.py on an empty project, with what it would install written down instead."""
    module = loaded(ROOT / "tools" / "make_venv.py")
    monkeypatch.delenv("PYTHON", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    (tmp_path / "constraints").mkdir()
    for name in ("setup.py", "setup.cfg", "constraints/wheels.txt", "constraints/ros.txt"):
        (tmp_path / name).write_text(name)
    venv = tmp_path / ".venv"
    module.ROOT, module.VENV, module.VENV_PYTHON = tmp_path, venv, venv / "bin" / "python"
    module.STAMP, module.done = venv / "made_from.json", []

    def create(ros):
        module.done.append(f"create {ros}".strip())
        module.VENV_PYTHON.parent.mkdir(parents=True, exist_ok=True)
        if not module.VENV_PYTHON.exists():
            module.VENV_PYTHON.symlink_to(sys.executable)

    module.create = create
    module.install = lambda ros: module.done.append(f"install {ros}".strip())
    return module


def run_again(tool) -> list[str]:
    tool.done.clear()
    tool.main()
    return tool.done


def source_ros(prefix: Path, monkeypatch, rclpy: str = "") -> str:
    """A prefix with an rclpy (its source text given), sourced as ROS 2's setup.bash does it."""
    site = prefix / "lib" / "python3.12" / "site-packages"
    (site / "rclpy").mkdir(parents=True)
    (site / "rclpy" / "__init__.py").write_text(rclpy)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    monkeypatch.setenv("PYTHONPATH", str(site))
    return str(prefix)


def test_a_second_run_does_nothing(tool):
    assert run_again(tool) == ["create", "install"]
    assert run_again(tool) == []


def test_changed_requirements_are_installed_into_the_same_environment(tool):
    tool.main()
    (tool.ROOT / "constraints/wheels.txt").write_text("changed")
    assert run_again(tool) == ["install"]
    assert run_again(tool) == []


def test_an_environment_behind_a_link_is_left_alone(tool, tmp_path):
    """It is another project's, which made it from its own files."""
    tool.main()
    other = tool.VENV.rename(tmp_path / "other")
    tool.VENV.symlink_to(other)
    assert run_again(tool) == []
    tool.STAMP.write_text(tool.STAMP.read_text().replace(str(tmp_path), "/another/project"))
    with pytest.raises(SystemExit, match="setup: .venv is a symbolic link to the environment .*/other: remove the link first"):
        run_again(tool)
    assert tool.done == []


def test_a_ros_built_for_another_python_is_refused(tool, monkeypatch, tmp_path):
    prefix = source_ros(tmp_path / "ros", monkeypatch, "raise ImportError('built for another Python')")
    with pytest.raises(SystemExit, match=f"sourced from {prefix}, but .* cannot import its rclpy"):
        tool.main()
    assert tool.done == []
