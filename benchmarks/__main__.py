"""All benchmarks: one JSON document on standard output, progress and a table on standard error.

    python -m benchmarks                 everything, about an hour on two cores
    python -m benchmarks --quick         fewer rounds and poses: to see that it runs, not to quote
    python -m benchmarks --only loop     one of them; may be repeated
    python -m benchmarks --slow          those that take long too: ten minutes of soak, ten arms

Figures depend on the machine and on what else it does: both are in the document.  Nothing fails for a figure that misses
its target; the exit code tells whether everything ran.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time

from benchmarks import machine
from benchmarks.targets import judged

BENCHMARKS = {  # name: arguments of run() in the quick form
    "dynamics": {"rounds": 3},
    "hold": {},
    "line": {"seconds": 2.5},
    "guard": {"rounds": 2},
    "inverse_kinematics": {"targets": 30},
    "firmware": {"minutes": 0.2, "levels": 10},
    "motion": {"count": 4, "collisions": {"motions": 5, "checks": 20}, "picks": {"picked": 2, "refused": 5}},
    "loop": {"seconds": 4.0, "runs": 1},
    "bringup": {"runs": 2},
    "drive": {"presses": 20},
    "view": {"interval_s": 3.0, "pairs": 1, "presses": 10, "stops": 3, "frames_s": 2.0},
    "study": {"rounds": 1},
    "identification": {"seeds": (1,), "coverage_seeds": 5, "bettered": 200},
    "calibration": {"arms": 1},
    "payload": {"seeds": 5},
    "bus": {"poses": 3, "cycles": 600},
    "bus_calibration": {"arms": 2, "moved": 0},
    "camera": {"arms": 2, "crooked": 1, "weighed": 1, "moved": 1},
}
SLOW = {  # likewise, left out unless asked for
    "soak": {"minutes": 0.5},
    "arms": {"arms": 2, "seconds": 5.0},
}
TELLING = ("loop", "motion", "soak", "arms")


def tell(text: str) -> None:
    """Progress, for whoever waits."""
    print(text, file=sys.stderr, flush=True)


def measured(name: str, quick: bool) -> dict:
    """The results of one benchmark."""
    arguments = dict((BENCHMARKS | SLOW)[name]) if quick else {}
    if name in TELLING:
        arguments["tell"] = tell
    return importlib.import_module(f"benchmarks.{name}").run(**arguments)


def table(rows: list[dict]) -> str:
    """Figures against targets, for a person."""
    lines = []
    for row in rows:
        side = "at_least" if "at_least" in row else "at_most"
        verdict = {True: "met", False: "NOT MET", None: "no value"}[row["met"]]
        value = "-" if row["value"] is None else f"{row['value']:g}"
        lines.append(f"{verdict:9}{row['figure']:62}{value:>9}  {side.replace('_', ' ')} {row[side]:g}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=(*BENCHMARKS, *SLOW), help="run this one; may be repeated")
    parser.add_argument("--slow", action="store_true", help="also those that take long")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it runs, not to quote")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    results: dict = {"quick": options.quick, "machine": machine.facts()}
    for name in options.only or (*BENCHMARKS, *(SLOW if options.slow else ())):
        tell(f"{name} ...")
        results[name] = measured(name, options.quick)
        if "not_run" in results[name]:
            tell(f"{name} did not run: {results[name]['not_run']}")
    results["targets"] = judged(results)
    results["load_average_at_the_end"] = machine.load()
    results["seconds"] = round(time.monotonic() - begin, 1)
    print(json.dumps(results, indent=2))
    tell(table(results["targets"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
