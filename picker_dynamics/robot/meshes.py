"""Where the file of a mesh is that a URDF names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote


def find_mesh(filename: str, folder: Path) -> tuple[Path, Path] | None:
    """The file, and the folder to which it belongs; None: there is none.

    ``package://NAME/...`` and ``model://NAME/...`` are looked for below a folder NAME that holds the URDF, or is beside one that
    does; then in the URDF's folder and the one above, whatever that is called; then, as everything else is, beside the URDF.
    ``%20`` stands for a blank, and, last of all, names count whose letters differ in case.

    Args:
        folder: of the URDF.
    """
    scheme, _, written = filename.rpartition("://")
    folder, tried = folder.resolve(), list[tuple[Path, str]]()
    for rest in dict.fromkeys((written, unquote(written))):
        package, _, inside = rest.partition("/")
        if scheme in ("package", "model"):
            tried += [(up / package, inside) for up in folder.parents if (up / package).is_dir()]
            tried += [(folder, inside), (folder.parent, inside)]
        tried.append((folder, rest))
    for find in (Path.joinpath, _in_any_case):
        for base, rest in tried:
            if (path := find(base, rest)).is_file():
                return path, base
    return None


def _in_any_case(base: Path, rest: str) -> Path:
    for part in rest.split("/"):
        named = base / part
        alike = [] if named.exists() or not base.is_dir() else [one for one in base.iterdir() if one.name.lower() == part.lower()]
        base = alike[0] if alike else named
    return base
