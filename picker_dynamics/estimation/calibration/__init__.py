"""Finding the numbers of one's own arm with a scale, a ruler, a stopwatch and an inclinometer; ``picker calibrate``."""
