"""What may be asked of a running arm: one interface, whoever asks; the arm that runs in this process with its settings, and the
thread that runs its loop.  Imports ``board``, ``control``, ``controller``, ``dynamics``, ``execution``, ``robot`` and ``sim``.
"""

__all__ = ["local", "loop_thread", "running_arm", "session"]
