"""Payload estimation: the mass in the tool from how far servos sag, or from efforts that joints measure; ``picker weigh``."""
