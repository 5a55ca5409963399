"""Files that users name, read and parsed within bounds of size, depth, number and time: the one door for each kind.
Imports no other room.
"""

__all__ = ["fields", "formats", "reading"]
