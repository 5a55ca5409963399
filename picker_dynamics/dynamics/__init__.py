"""Equations of motion, three times: by hand (``lagrangian``), by Pinocchio (``rigid_body``), and urchin as a third reader of
the URDF; ``cross_check`` compares them.  Imports ``robot``; the hand-written models and Pinocchio never see each other.
"""

__all__ = ["check", "cross_check", "lagrangian", "rigid_body", "urchin_peer"]
