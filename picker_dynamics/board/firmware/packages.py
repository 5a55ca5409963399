"""Tools that build, simulate and fuzz the firmware, make test networks, or show a page: which are here, and their packages.

Standard library only: ``tools/apt_packages.py`` asks before there is a virtual environment.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

ARDUINO_CORE = Path("/usr/share/arduino/hardware/arduino/avr")
SIMAVR_INCLUDE = Path("/usr/include/simavr")
AVR_PROBE = "#include <avr/io.h>\n#include <math.h>\n"
SIMAVR_PROBE = "#include <sim_avr.h>\n"


def _runs(command: tuple[str, ...], text: str = "") -> str | None:
    """What a command prints, or None where it cannot be run or fails."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _preprocesses(compiler: str, *options: str, text: str) -> bool:
    return _runs((compiler, *options, "-E", "-x", "c", "-o", "/dev/null", "-"), text) is not None


def _has_fuzzer() -> bool:
    """Whether clang++ is here with libFuzzer: a package of its own."""
    folder = _runs(("clang++", "-print-resource-dir"))
    return folder is not None and any(Path(folder.strip()).glob("lib/**/libclang_rt.fuzzer*.a"))


def _fuzzer_packages() -> tuple[str, ...]:
    """clang, and its run-time libraries where their package has a name of this release."""
    said = _runs(("clang++", "--version")) or _runs(("apt-cache", "depends", "clang")) or ""
    version = re.search(r"(?:clang version |Depends: clang-)(\d+)", said)
    return ("clang",) if version is None else ("clang", f"libclang-rt-{version[1]}-dev")


class Tool(NamedTuple):
    """A program or library that has to be installed: how to tell whether it is, and which packages have it."""

    name: str
    present: Callable[[], bool]
    packages: Callable[[], tuple[str, ...]]


def _program(name: str, package: str) -> Tool:
    return Tool(name, lambda: shutil.which(name) is not None, lambda: (package,))


_MAKE, _CXX, _CC = _program("make", "make"), _program("g++", "g++"), _program("gcc", "gcc")
_AVR_CXX = _program("avr-g++", "gcc-avr")
_AVR_LIBC = Tool("avr-libc", lambda: _preprocesses("avr-g++", "-mmcu=atmega328p", text=AVR_PROBE), lambda: ("avr-libc",))
_SIMAVR = Tool("simavr", lambda: _preprocesses("gcc", f"-I{SIMAVR_INCLUDE}", text=SIMAVR_PROBE), lambda: ("libsimavr-dev",))
_ARDUINO = Tool("Arduino core", (ARDUINO_CORE / "cores/arduino/Arduino.h").is_file, lambda: ("arduino-core-avr",))
_NETWORK = (_program("ip", "iproute2"), _program("nft", "nftables"))
_BROWSER = _program("chromium", "chromium")
_FUZZER = Tool("libFuzzer", _has_fuzzer, _fuzzer_packages)

NEEDS: dict[str, tuple[Tool, ...]] = {
    "host": (_MAKE, _CXX),
    "avr": (_MAKE, _AVR_CXX, _AVR_LIBC),
    "sim": (_MAKE, _AVR_CXX, _AVR_LIBC, _CC, _SIMAVR),
    "fuzz": (_MAKE, _FUZZER),
    "arduino": (_MAKE, _AVR_CXX, _AVR_LIBC, _ARDUINO),
    "network": _NETWORK,
    "browser": (_BROWSER,),
}
"""What for -> tools: the core as a library for this machine, the firmware itself, the simulated Uno, the fuzzers, the
sketch as the Arduino IDE builds it, two machines with a cable between them, and the page of picker view."""


@cache
def _present(tool: Tool) -> bool:
    return tool.present()


def forget() -> None:
    """Forget which tools were found, because something was installed."""
    _present.cache_clear()


def missing_tools(*needs: str) -> tuple[Tool, ...]:
    """The tools that are not installed, each once; of all needs where none is named."""
    tools = dict.fromkeys(tool for need in needs or NEEDS for tool in NEEDS[need])
    return tuple(tool for tool in tools if not _present(tool))


def missing(*needs: str) -> str:
    """Empty where everything for ``needs`` is here, else one line: what is missing, and how to get it."""
    tools = missing_tools(*needs)
    if not tools:
        return ""
    names = ", ".join(tool.name for tool in tools)
    packages = dict.fromkeys(package for tool in tools for package in tool.packages())
    return f"firmware tools missing ({names}): apt install {' '.join(packages)}, or make apt"
