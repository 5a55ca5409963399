"""``picker study rrp`` and ``picker study arduino``: run a study, write its figures and summary.json, print its tables."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from .. import options as shared
from ..terminal import console


def add_parser(commands) -> None:
    """Register ``study`` and its two studies."""
    study = commands.add_parser("study", help="repeat a study of the reference notes, with figures")
    studies = study.add_subparsers(dest="study", required=True, metavar="STUDY")
    for name, text, run in (
        ("rrp", "six control laws on the RRP arm, told the wrong load", run_rrp),
        ("arduino", "the notes' simplified Arduino formulas against the exact model", run_arduino),
    ):
        one = studies.add_parser(name, help=text)
        one.add_argument(
            "--out", default=f"out/study/{name}", help=f"folder for figures and summary.json (default: out/study/{name})"
        )
        shared.add(one, "--json", help="print the summary as JSON instead of tables")
        one.set_defaults(run=run)
    one.add_argument("--samples", type=shared.whole(1, 5_000_000), default=1_000_000, help="random states (default 1000000)")
    shared.add(one, "--seed")


def run_rrp(options) -> int:
    """The study of the RRP arm; exit code 0 only if every requirement is met."""
    from . import rrp, rrp_report, rrp_summary

    show, out, begun = console(options), _folder(options), time.monotonic()
    with show.status("simulating") as status:
        cases = rrp.comparison(status.update), rrp.profiles(status.update), rrp.open_loop()
        status.update("drawing")
        summary = rrp_summary.summarise(*cases)
        rrp_report.draw(*cases, out)
    _finish(summary, out, options, show, rrp_report.show)
    met, took = "every requirement is met" if summary["passed"] else "NOT every requirement is met", time.monotonic() - begun
    show.print(f"{met}; {took:.0f} s; figures and numbers in {out}/", soft_wrap=True)
    return 0 if summary["passed"] else 1


def run_arduino(options) -> int:
    """The study of the simplified formulas."""
    from . import arduino, arduino_report

    show, out = console(options), _folder(options)
    summary = arduino.summarise(options.samples, options.seed)
    arduino_report.draw(summary, out, options.seed)
    _finish(summary, out, options, show, arduino_report.show)
    show.print(f"figure and numbers in {out}/", soft_wrap=True)
    return 0


def _folder(options) -> Path:
    Path(options.out).mkdir(parents=True, exist_ok=True)
    return Path(options.out)


def _finish(summary: dict, out: Path, options, console, show) -> None:
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    (out / "summary.json").write_text(text, encoding="utf-8")
    if options.json:
        sys.stdout.write(text)
    else:
        show(summary, console)
