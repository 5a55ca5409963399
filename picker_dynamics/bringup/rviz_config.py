"""RViz configuration for an arm in a namespace, from rviz/picker.rviz: frame names cannot be given to RViz in another way."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml

from picker_dynamics.resources import resource

WRITTEN_FOR = "base_link"


def configuration(root: str, frame_prefix: str) -> tuple[Path, Callable[[], None]]:
    """A configuration file for an arm whose frames are ``frame_prefix`` + link, and what removes it when RViz has ended.

    Topics are relative in the file: RViz follows the namespace that it is started in.

    Args:
        root: link that the arm is mounted with.
        frame_prefix: empty, or ends with a slash.
    """
    original = resource("rviz/picker.rviz")
    if not frame_prefix and root == WRITTEN_FOR:
        return original, lambda: None
    handle, name = tempfile.mkstemp(prefix="picker_", suffix=".rviz")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(fitted(original.read_text(encoding="utf-8"), root, frame_prefix))

    def remove() -> None:
        with contextlib.suppress(OSError):
            os.unlink(name)

    return Path(name), remove


def fitted(text: str, root: str, frame_prefix: str) -> str:
    """The configuration with other frames; of the frames of several arms, only this one's are shown."""
    config = yaml.safe_load(text)
    manager = config["Visualization Manager"]
    manager["Global Options"]["Fixed Frame"] = frame_prefix + root
    for display in manager["Displays"]:
        if "TF Prefix" in display:
            display["TF Prefix"] = frame_prefix.rstrip("/")
        if frame_prefix and "Filter (whitelist)" in display:
            display["Filter (whitelist)"] = f"{frame_prefix}.*"
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=10_000)
