"""Recordings of a running graph: MCAP written and read, and what is computed from them.  Imports ``files`` and
``robot``.
"""

__all__ = ["definitions", "figures", "reader", "topics", "tracking", "writer"]
