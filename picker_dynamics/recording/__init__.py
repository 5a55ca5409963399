"""What a running graph said, on file: MCAP written and read, and what is computed from it.  Imports nothing of this package
but ``errors``.
"""

__all__ = ["definitions", "figures", "reader", "topics", "tracking", "writer"]
