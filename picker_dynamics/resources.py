"""Paths of the files in urdf/, config/, launch/ and rviz/, in a colcon install or in the source tree; a folder of one's own."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from picker_dynamics.errors import ConfigurationError

PACKAGE = "picker_dynamics"


def share_directory() -> Path:
    """The package's share directory: the source tree when run from one, else the ament prefix's."""
    source = Path(__file__).resolve().parent.parent
    if (source / "urdf").is_dir():
        return source
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) + [sys.prefix]
    for prefix in prefixes:
        share = Path(prefix) / "share" / PACKAGE
        if prefix and (share / "urdf").is_dir():
            return share
    raise ConfigurationError(
        f"no urdf/ beside {source.name} and no share/{PACKAGE} in AMENT_PREFIX_PATH: "
        "source install/setup.bash, or install with 'pip install -e .'"
    )


def resource(relative: str) -> Path:
    """Path of a file below the share directory, for example ``urdf/picker.urdf``.

    Raises:
        ConfigurationError: where there is no such file.
    """
    path = share_directory() / relative
    if not os.path.isfile(path):  # false for a name too long to be one, too
        raise ConfigurationError(f"no file {relative} in {share_directory()}", value=relative)
    return path


def private_folder(name: str, shared: bool = False, where: str | None = None) -> str:
    """A folder that only this user can enter, the same at each start; a new one where that name is somebody else's, or a link.

    Args:
        shared: by processes of this user.
        where: it lies; default: with temporary files.

    Raises:
        ConfigurationError: it is to be ``shared``, and that name is somebody else's.
    """
    path = os.path.join(where or tempfile.gettempdir(), f"{name}_{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    found = os.lstat(path)
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
        return path
    if shared:
        raise ConfigurationError(f"{path} is not this user's alone: set XDG_RUNTIME_DIR to a folder that is", value=path)
    return tempfile.mkdtemp(prefix=f"{name}_")
