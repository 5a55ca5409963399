"""Camera that looks at an arm: projection, tags and their detection, frames, printed sheets.  Imports no other room."""

__all__ = ["drawn", "edges", "frames", "judged", "pinhole", "sheet", "tags"]
