"""Recordings of a running arm: MCAP written and read, and what is computed from them.  Imports ``robot`` and ``files``."""

__all__ = ["arm_topics", "messages", "reader", "writer"]
