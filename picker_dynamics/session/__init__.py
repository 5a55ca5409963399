"""What may be asked of a running arm: one interface, whoever asks; requests to a controller in this process, and the thread that
runs its loop.  Imports ``board``, ``controller``, ``execution`` and ``robot``.
"""

__all__ = ["local", "loop_thread", "session"]
