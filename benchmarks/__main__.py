"""All benchmarks: one JSON document on standard output, progress and a table on standard error.

    python -m benchmarks                 everything, about five minutes on two cores
    python -m benchmarks --quick         fewer rounds and poses: to see that it runs, not to quote
    python -m benchmarks --only loop     one of them; may be repeated

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
    "loop": {"seconds": 4.0, "runs": 1, "others_hz": ()},
    "study": {"rounds": 1},
}


def tell(text: str) -> None:
    """Progress, for whoever waits."""
    print(text, file=sys.stderr, flush=True)


def measured(name: str, quick: bool) -> dict:
    """The results of one benchmark."""
    arguments = dict(BENCHMARKS[name]) if quick else {}
    if name == "loop":
        arguments["tell"] = tell
    return importlib.import_module(f"benchmarks.{name}").run(**arguments)


def table(rows: list[dict]) -> str:
    """Figures against targets, for a person."""
    lines = []
    for row in rows:
        side = "at_least" if "at_least" in row else "at_most"
        verdict, bound = "met" if row["met"] else "NOT MET", f"{side.replace('_', ' ')} {row[side]:g}"
        lines.append(f"{verdict:8}{row['figure']:62}{row['value']:>9g}  {bound}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=tuple(BENCHMARKS), help="run this one; may be repeated")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it runs, not to quote")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    results: dict = {"quick": options.quick, "machine": machine.facts()}
    for name in options.only or BENCHMARKS:
        tell(f"{name} ...")
        results[name] = measured(name, options.quick)
    results["targets"] = judged(results)
    results["load_average_at_the_end"] = machine.load()
    results["seconds"] = round(time.monotonic() - begin, 1)
    print(json.dumps(results, indent=2))
    tell(table(results["targets"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
