"""Benchmarks: ``make bench``, or ``python -m benchmarks``.  See docs and README for the figures."""
