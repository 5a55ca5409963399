"""What the tool holds: its mass from how far servos sag, or from efforts that joints measure; ``picker weigh``."""
