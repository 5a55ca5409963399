"""What a calibration by hand is worth, over simulated arms: ``python -m benchmarks.calibration``.

Whole rehearsals of ``picker calibrate``: pickers with hidden numbers behind a board in memory, which move to every station, swing
and stick there, read with the noise of real instruments (ruler 0.5 mm, inclinometer 0.1 degrees).
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile

from benchmarks.bus_calibration import inside, spread
from picker_dynamics.commands import cli
from picker_dynamics.estimation.calibration.evaluate import STAGES
from picker_dynamics.estimation.calibration.readings import Measured

ARMS = 6


def rehearsed(seed: int) -> dict:
    """The report of one rehearsal."""
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        cli.main(["calibrate", "--sim", "--json", "--seed", str(seed), "--out", folder])
    return json.loads(said.getvalue())


def run(arms: int = ARMS) -> dict:
    """All of it; JSON-able."""
    found = [rehearsed(seed) for seed in range(arms)]
    medians = [{stage: arm["hold_mm"][stage]["median"] for stage in STAGES} for arm in found]
    rows = [
        (name, key, Measured(one["found"], one["sd"]).contains(one["truth"]))
        for arm in found
        for name, entries in arm["joints"].items()
        for key, one in entries.items()
    ]
    return {
        "arms": arms,
        "answers": max(arm["answers"] for arm in found),
        "hold_mm": {stage: spread([one[stage] for one in medians]) for stage in STAGES},
        "share_of_before": spread([one["after"] / one["before"] for one in medians]),
        "tip_stated_mm": spread([arm["tip_uncertainty_95_mm"] for arm in found]),
        **inside(rows),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
