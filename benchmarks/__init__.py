"""Benchmarks: ``make bench``, or ``python -m benchmarks``.  See docs and README for the figures."""

import sys
from pathlib import Path

# The protocol's rules, and the inside of a simulated Uno.
sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "support"))
