"""RViz configuration for an arm in a namespace, from rviz/picker.rviz: frame names cannot be given to RViz in another way."""

from __future__ import annotations

from pathlib import Path

import yaml

from picker_dynamics.resources import private_folder, resource


def configuration(root: str, frame_prefix: str) -> Path:
    """A configuration file for an arm whose frames are ``frame_prefix`` + link, written anew at each start.

    Topics are relative in the file: RViz follows the namespace that it is started in.

    Args:
        root: link that the arm is mounted with.
        frame_prefix: empty, or ends with a slash.
    """
    path = Path(private_folder("picker_dynamics_rviz"), f"{frame_prefix}{root}".replace("/", "_") + ".rviz")
    path.write_text(fitted(resource("rviz/picker.rviz").read_text(encoding="utf-8"), root, frame_prefix), encoding="utf-8")
    return path


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
