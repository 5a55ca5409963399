"""Closed-form equations of motion of the reference notes' systems, one file each."""
