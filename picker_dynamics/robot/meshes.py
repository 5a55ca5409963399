"""Where the file of a mesh is that a URDF names."""

from __future__ import annotations

from pathlib import Path


def find_mesh(filename: str, folder: Path) -> tuple[Path, Path] | None:
    """The file, and the folder to which it belongs; None: there is none.

    ``package://NAME/...`` is looked for below a folder NAME that holds the URDF; else beside the URDF, or where ``file://`` says.

    Args:
        folder: of the URDF.
    """
    scheme, _, rest = filename.rpartition("://")
    folder, package = folder.resolve(), rest.partition("/")[0]
    if scheme == "package":
        tried = [(up.parent / rest, up) for up in (folder, *folder.parents) if up.name == package]
    else:
        tried = [(folder / rest, folder)]
    return next((one for one in tried if one[0].is_file()), None)
