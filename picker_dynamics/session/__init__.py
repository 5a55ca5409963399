"""What may be asked of a running arm: one interface, whoever asks and wherever the arm runs."""

__all__ = ["local", "loop_thread", "session"]
