"""Building the firmware for an arm; what is said where it cannot be built; and the Debian packages."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from arm_fixtures import picker, servos
from firmware_tools import needs
from places import ROOT
from waiting import python, run

from picker_dynamics.board.firmware import packages, toolchain
from picker_dynamics.commands import cli
from picker_dynamics.errors import MissingDependencyError

FLASH_LIMIT, RAM_LIMIT = 12 * 1024 + 512, 1024
"""Bytes: less than half of an Uno's 32256 and 2048 (12374 are taken with a PCA9685)."""


@pytest.fixture
def own_build_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "build_folder", lambda: tmp_path / "build")
    return tmp_path / "build"


@pytest.fixture
def bare_machine(monkeypatch, tmp_path):
    """A machine on which no compiler is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(packages.glob, "glob", lambda *_, **__: [])


def sections(elf: Path) -> dict[str, int]:
    said = run("avr-size", "-A", elf, check=True).stdout
    return {words[0]: int(words[1]) for words in map(str.split, said.splitlines()) if words and words[0].startswith(".")}


@needs("avr")
@pytest.mark.parametrize("backend", ["pca9685", "timer"])
def test_the_firmware_leaves_half_of_an_uno(own_build_folder, backend):
    elf = toolchain.build(servos(), picker(), backend)
    size = sections(elf)
    flash, ram = size[".text"] + size.get(".data", 0), size.get(".data", 0) + size[".bss"] + size.get(".noinit", 0)
    print(f"{backend}: flash {flash} bytes, static RAM {ram} bytes")
    assert flash <= FLASH_LIMIT and ram <= RAM_LIMIT
    assert elf.with_suffix(".hex").read_text().startswith(":10000000")


@needs("avr")
def test_the_same_arm_is_built_once_and_another_one_anew(own_build_folder, monkeypatch):
    first = toolchain.build(servos(), picker())
    written = first.stat().st_mtime_ns
    assert toolchain.build(servos(), picker()) == first and first.stat().st_mtime_ns == written
    assert own_build_folder in first.parents
    monkeypatch.setattr(toolchain, "make", lambda *_, **__: None)
    others = [
        toolchain.build(replace(servos(), oscillator_hz=25.5e6), picker()),
        toolchain.build(servos(), picker(), "timer"),
        toolchain.build(servos(), picker(), baud=115_200),
    ]
    assert len({first, *others}) == 4


@needs("avr")
def test_the_command_builds_where_it_is_told(tmp_path, capsys):
    assert cli.main(["firmware", "build", "--backend", "timer", "--out", str(tmp_path)]) == 0
    said = Path(capsys.readouterr().out.strip())
    assert said == tmp_path / "timer" / "picker_firmware.hex" and said.is_file()


@needs("avr")
def test_a_build_that_fails_is_one_line(own_build_folder, monkeypatch):
    monkeypatch.setattr(toolchain, "header_text", lambda *_: "#define PICKER_JOINTS 5\n#error no such arm\n")
    with pytest.raises(toolchain.BuildError, match=r"make hex failed: .*error: #error no such arm") as caught:
        toolchain.build(servos(), picker())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("need", "message"),
    [
        ("host", "firmware tools missing (make, g++): apt install make g++, or make apt"),
        (
            "sim",
            "missing (make, avr-g++, avr-libc, gcc, simavr): apt install make gcc-avr avr-libc gcc libsimavr-dev, or make apt",
        ),
    ],
)
def test_what_is_missing_is_named_in_one_line(bare_machine, need, message):
    with pytest.raises(MissingDependencyError) as caught:
        toolchain.require(need)
    assert str(caught.value).endswith(message)


def test_a_bare_machine_says_so_for_every_purpose(bare_machine, own_build_folder, capsys):
    for kind in toolchain.LIBRARIES:
        with pytest.raises(MissingDependencyError):
            toolchain.library(kind)
    assert cli.main(["firmware", "build"]) == MissingDependencyError.exit_code
    assert len(capsys.readouterr().err.splitlines()) == 1


# -- make apt ------------------------------------------------------------------------------------------


def test_the_tool_itself_runs_without_a_virtual_environment(tmp_path):
    """Isolated from site-packages, and unable to install: it must not need any package of ours or others'."""
    script = (
        "import runpy, sys; sys.argv = ['apt_packages.py']; import shutil; shutil.which = lambda *_: None\n"
        f"runpy.run_path({str(ROOT / 'tools' / 'apt_packages.py')!r}, run_name='__main__')"
    )
    done = python("-S", "-I", "-c", script, env=os.environ | {"PATH": str(tmp_path)})
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("firmware: ") and len(done.stderr.splitlines()) == 1
