"""Message definitions as a recording carries them: the text of a type with those of all types in it.

The text of the .msg files, joined the way ROS bags join it: a line of 80 ``=``, ``MSG: package/Type``, and the text.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from picker_dynamics.errors import ConfigurationError, MissingDependencyError

FIELD = re.compile(r"^\s*(?P<type>[A-Za-z][\w/]*)(<=\d+)?(\[[^\]]*\])?\s+[A-Za-z]\w*")
SEPARATOR = "=" * 80


def missing(error: ImportError) -> MissingDependencyError:
    """Error to raise where a package of the extra is not installed."""
    return MissingDependencyError(
        f'{error.name} is not installed; recordings need it: pip install "picker_dynamics[record]"', subject=error.name
    )


def definition(kind: str) -> str:
    """Definition of a message type, all its text, such as ``sensor_msgs/msg/JointState``.

    Raises:
        ConfigurationError: a package or file is missing.
    """
    package, _, name = kind.replace("/msg/", "/").partition("/")
    parts, types = [], [(package, name)]
    for package, name in types:  # grows while it is walked
        text = _text(package, name)
        parts.append(f"{SEPARATOR}\nMSG: {package}/{name}\n{text}" if parts else text)
        types += [inner for inner in dict.fromkeys(_inner(text, package)) if inner not in types]
    return "\n".join(parts)


def _text(package: str, name: str) -> str:
    for prefix in _prefixes(package):
        path = prefix / "share" / package / "msg" / f"{name}.msg"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise ConfigurationError(
        f"no definition of message type {package}/{name}: is the package {package} installed?", value=f"{package}/{name}"
    )


def _prefixes(package: str) -> list[Path]:
    """Where a package may have been installed: what ROS 2 has sourced, and beside its Python module (wheels)."""
    found = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    module = importlib.util.find_spec(package)
    if module is not None and module.origin is not None:
        found += Path(module.origin).resolve().parents[4:5]  # prefix/lib/python3.x/site-packages/package/__init__.py
    return found


def _inner(text: str, package: str) -> list[tuple[str, str]]:
    """(package, name) of the message types in it; those have capitals, plain types have none."""
    fields = (FIELD.match(line) for line in text.splitlines())
    kinds = (match["type"] for match in fields if match and not match["type"].islower())
    return [(kind.partition("/")[0], kind.rpartition("/")[2]) if "/" in kind else (package, kind) for kind in kinds]
