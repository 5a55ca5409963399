"""A dozen simulated arms that move through their whole calibration: ``python -m benchmarks.calibration_moved``."""

from __future__ import annotations

import json
import time

from benchmarks.calibration import moving, workers

ARMS = 12


def run(arms: int = ARMS) -> dict:
    """As ``moved`` of ``benchmarks.calibration``, for more arms; JSON-able."""
    started = time.perf_counter()
    with workers() as pool:
        return moving(arms, pool) | {"seconds": round(time.perf_counter() - started, 1)}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
