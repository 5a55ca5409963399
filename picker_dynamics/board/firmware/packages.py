"""Tools that build, simulate and fuzz the firmware, make test networks, or show a page: which are here, and their packages.

Standard library only: ``tools/apt_packages.py`` asks before there is a virtual environment.
"""

from __future__ import annotations

import glob
import shutil

TOOLS = {
    "make": ("make", "make"),
    "g++": ("g++", "g++"),
    "gcc": ("gcc", "gcc"),
    "avr-g++": ("gcc-avr", "avr-g++"),
    "avr-libc": ("avr-libc", "/usr/lib/avr/include/avr/io.h"),
    "simavr": ("libsimavr-dev", "/usr/include/simavr/sim_avr.h"),
    "Arduino core": ("arduino-core-avr", "/usr/share/arduino/hardware/arduino/avr/cores/arduino/Arduino.h"),
    "clang": ("clang", "clang++"),
    "libFuzzer": ("libclang-rt-dev", "/usr/lib/llvm-*/lib/clang/*/lib/**/libclang_rt.fuzzer*.a"),
    "ip": ("iproute2", "ip"),
    "nft": ("nftables", "nft"),
    "chromium": ("chromium", "chromium"),
}
"""Tool -> package that has it, and the program or file that tells whether it is here."""

_AVR = ("make", "avr-g++", "avr-libc")
NEEDS = {
    "host": ("make", "g++"),
    "avr": _AVR,
    "sim": (*_AVR, "gcc", "simavr"),
    "fuzz": ("make", "clang", "libFuzzer"),
    "arduino": (*_AVR, "Arduino core"),
    "network": ("ip", "nft"),
    "browser": ("chromium",),
}
"""What for -> tools: the core as a library for this machine, the firmware itself, the simulated Uno, the fuzzers, the
sketch as the Arduino IDE builds it, two machines with a cable between them, and the page of picker view."""


def missing_packages(*needs: str) -> dict[str, str]:
    """The tools that are not installed, and their packages; of all needs where none is named."""
    tools = dict.fromkeys(tool for need in needs or NEEDS for tool in NEEDS[need])
    missing = {}
    for tool in tools:
        package, sign = TOOLS[tool]
        if not (glob.glob(sign, recursive=True) if "/" in sign else shutil.which(sign)):
            missing[tool] = package
    return missing


def missing(*needs: str) -> str:
    """Empty where everything for ``needs`` is here, else one line: what is missing, and how to get it."""
    tools = missing_packages(*needs)
    if not tools:
        return ""
    return f"firmware tools missing ({', '.join(tools)}): apt install {' '.join(tools.values())}, or make apt"
