"""Equations of motion, twice: by hand (``lagrangian``) and by Pinocchio (``rigid_body``); ``cross_check`` compares them.
Imports ``robot``; the hand-written models and Pinocchio never see each other.
"""

__all__ = ["check", "cross_check", "lagrangian", "rigid_body"]
