"""Tools that build, simulate and fuzz the firmware, make test networks, or show a page: which are here, and their packages.

Standard library only: ``tools/apt_packages.py`` asks before there is a virtual environment.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

ARDUINO_CORE = Path("/usr/share/arduino/hardware/arduino/avr")
SIMAVR_INCLUDE = Path("/usr/include/simavr")

PACKAGES = {
    "make": "make",
    "g++": "g++",
    "gcc": "gcc",
    "avr-g++": "gcc-avr",
    "avr-libc": "avr-libc",
    "simavr": "libsimavr-dev",
    "Arduino core": "arduino-core-avr",
    "libFuzzer": "clang",
    "ip": "iproute2",
    "nft": "nftables",
    "chromium": "chromium",
}
"""Tool -> package that has it; of libFuzzer another one belongs to clang's version."""

_AVR = ("make", "avr-g++", "avr-libc")
NEEDS = {
    "host": ("make", "g++"),
    "avr": _AVR,
    "sim": (*_AVR, "gcc", "simavr"),
    "fuzz": ("make", "libFuzzer"),
    "arduino": (*_AVR, "Arduino core"),
    "network": ("ip", "nft"),
    "browser": ("chromium",),
}
"""What for -> tools: the core as a library for this machine, the firmware itself, the simulated Uno, the fuzzers, the
sketch as the Arduino IDE builds it, two machines with a cable between them, and the page of picker view."""


def _runs(*command: str, text: str = "") -> str | None:
    """What a command prints, or None where it cannot be run or fails."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


@cache
def present(tool: str) -> bool:
    """Whether a tool is installed; looked at once, until ``present.cache_clear()``."""
    compiles = ("-E", "-x", "c", "-o", "/dev/null", "-")
    if tool == "avr-libc":
        return _runs("avr-g++", "-mmcu=atmega328p", *compiles, text="#include <avr/io.h>\n#include <math.h>\n") is not None
    if tool == "simavr":
        return _runs("gcc", f"-I{SIMAVR_INCLUDE}", *compiles, text="#include <sim_avr.h>\n") is not None
    if tool == "Arduino core":
        return (ARDUINO_CORE / "cores/arduino/Arduino.h").is_file()
    if tool == "libFuzzer":
        folder = _runs("clang++", "-print-resource-dir")
        return folder is not None and any(Path(folder.strip()).glob("lib/**/libclang_rt.fuzzer*.a"))
    return shutil.which(tool) is not None


def packages(tools: tuple[str, ...]) -> list[str]:
    """The packages that have these tools, each once."""
    wanted = dict.fromkeys(PACKAGES[tool] for tool in tools)
    if "libFuzzer" in tools:
        said = _runs("clang++", "--version") or _runs("apt-cache", "depends", "clang") or ""
        if version := re.search(r"(?:clang version |Depends: clang-)(\d+)", said):
            wanted[f"libclang-rt-{version[1]}-dev"] = None
    return list(wanted)


def missing_tools(*needs: str) -> tuple[str, ...]:
    """The tools that are not installed, each once; of all needs where none is named."""
    tools = dict.fromkeys(tool for need in needs or NEEDS for tool in NEEDS[need])
    return tuple(tool for tool in tools if not present(tool))


def missing(*needs: str) -> str:
    """Empty where everything for ``needs`` is here, else one line: what is missing, and how to get it."""
    tools = missing_tools(*needs)
    if not tools:
        return ""
    return f"firmware tools missing ({', '.join(tools)}): apt install {' '.join(packages(tools))}, or make apt"
