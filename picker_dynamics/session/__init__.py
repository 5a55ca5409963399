"""What may be asked of a running arm, whoever asks, in its process or by a socket: the arm with its settings, the thread and the
process that run its loop, its report, server and clients.
Imports ``board``, ``bus``, ``control``, ``controller``, ``dynamics``, ``execution``, ``files``, ``robot``, ``sim`` and
``trajectory``.
"""

__all__ = ["address", "entry", "local", "loop_thread", "process", "remote", "report", "running_arm", "served", "session"]
