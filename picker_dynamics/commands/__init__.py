"""The ``picker`` command line: all commands, the demo and the studies among them.  Imports every room below; nobody
imports it."""

__all__ = ["cli"]
