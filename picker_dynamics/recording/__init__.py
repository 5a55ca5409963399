"""Recordings of a running graph: MCAP written and read, and what is computed from them.  Imports nothing of this package
but ``errors`` and ``files``.
"""

__all__ = ["definitions", "figures", "reader", "topics", "tracking", "writer"]
