"""Compile the firmware for an arm, and the libraries that tests need of it: ``make -C firmware``, with what it needs checked.

    elf = build(servo_map, description, backend="pca9685")     the firmware, for that arm
    library("sim"), library("host"), library("fuzz")           the simulated Uno, the core for this machine, the fuzzers

``make`` decides what is due.  Where a tool is missing, ``MissingDependencyError`` says in one line what to install.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from picker_dynamics.errors import ConfigurationError, MissingDependencyError, PickerError
from picker_dynamics.resources import PACKAGE, resource, share_directory
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap

from .header import header_text
from .packages import missing

ELF = "picker_firmware.elf"
LIBRARIES = {"host": "libpicker_core.so", "sim": "libpicker_uno.so", "fuzz": ""}
BAUD = 500_000


class BuildError(PickerError):
    """The firmware does not compile; the message is the compiler's first complaint."""

    exit_code = 14


def require(*needs: str) -> None:
    """Make sure that what is needed for these can be built here; ``packages.NEEDS`` has the names.

    Raises:
        MissingDependencyError: naming the packages.
    """
    problem = missing(*needs)
    if problem:
        raise MissingDependencyError(problem)


def sources() -> Path:
    """Folder of the firmware: in the source tree, or in the share directory of an installed package."""
    return resource("firmware/Makefile").parent


def build_folder() -> Path:
    """Folder in which firmware is built: ``build/firmware`` of a source tree, else a folder of the user's cache."""
    share = share_directory()
    if (share / "setup.py").is_file():
        return share / "build" / "firmware"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / PACKAGE / "firmware"


def build(
    servo_map: ServoMap, description: ArmDescription, backend: str = "pca9685", out: Path | str | None = None, *, baud: int = BAUD
) -> Path:
    """Compile the firmware for an arm.

    Args:
        servo_map: of the description's joints, in their order.
        backend: ``pca9685`` or ``timer``.
        out: folder for what is built; default one of the build folder that is named after arm and options.
        baud: speed of the serial line [bit/s].

    Returns:
        Path of the ELF; the .hex lies beside it.

    Raises:
        MissingDependencyError: compiler or library missing.
        BuildError: it does not compile.
        ConfigurationError: an arm that does not fit a board, or a folder that cannot be made.
    """
    text = header_text(servo_map, description)
    name = hashlib.sha256(f"{backend} {baud} {text}".encode()).hexdigest()[:16]
    folder = Path(out) if out is not None else build_folder() / "arms" / name
    require("avr")
    with _locked(folder):
        header = folder / "arm_config.h"
        if not header.is_file() or header.read_text(encoding="utf-8") != text:  # make goes by its time
            header.write_text(text, encoding="utf-8")
        make("hex", folder, BACKEND=backend, CONFIG=folder, BAUD=baud)
    return folder / backend / ELF


def library(kind: str) -> Path:
    """Build, where that is due: ``host``, the core for this machine; ``sim``, the simulated Uno; ``fuzz``, a folder of fuzzers.

    Returns:
        Path of the library, or of the folder.

    Raises:
        MissingDependencyError, BuildError: as for :func:`build`.
    """
    require(kind)
    folder = build_folder()
    with _locked(folder / kind):
        make(kind, folder)
    return folder / kind / LIBRARIES[kind]


def make(target: str, out: Path, **variables: object) -> None:
    """Run ``make -C firmware TARGET OUT=… VARIABLE=…``.

    Raises:
        BuildError: it fails.
    """
    settings = [f"{name}={Path(value).resolve() if isinstance(value, Path) else value}" for name, value in variables.items()]
    command = ["make", "--no-print-directory", "-C", str(sources()), target, f"OUT={Path(out).resolve()}", *settings]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        lines = done.stderr.split("\n")
        complaint = next((line for line in lines if "error" in line), lines[0]).strip()
        raise BuildError(f"firmware: make {target} failed: {complaint}", value=done.returncode)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make ``folder``, and be the only process that builds in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "w", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot build in {folder}: {error.strerror}", "out", str(folder)) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
