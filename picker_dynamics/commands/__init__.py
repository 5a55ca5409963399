"""What a person types: ``picker`` and all that it does, the demo and the studies among it.  Imports every room below; nobody
imports it."""

__all__ = ["cli"]
