"""The simulated arm: firmware, board and plant, which meet the controller only through the real protocol."""
