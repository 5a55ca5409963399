"""``picker study rrp`` and ``picker study arduino``: run a study, write its figures and summary.json, print its tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .. import options as shared
from ..terminal import console


def add_parser(commands) -> None:
    """Register ``study`` and its two studies."""
    study = commands.add_parser("study", help="repeat a study of the reference notes, with figures")
    studies = study.add_subparsers(dest="study", required=True, metavar="STUDY")
    for name, text in (
        ("rrp", "six control laws on the RRP arm, with a wrong load"),
        ("arduino", "the notes' simplified Arduino formulas against the exact model"),
    ):
        one = studies.add_parser(name, help=text)
        one.add_argument(
            "--out", default=f"out/study/{name}", help=f"folder for figures and summary.json (default: out/study/{name})"
        )
        shared.add(one, "--json", help="print the summary as JSON instead of tables")
    one.add_argument("--samples", type=shared.whole(1, 5_000_000), default=1_000_000, help="random states (default 1000000)")
    shared.add(one, "--seed")


def run(options) -> int:
    """Run the study; exit code 0 only if every requirement is met."""
    from ..results import show_columns

    people, out = console(options), Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    with people.status("simulating"):
        summary = (_rrp if options.study == "rrp" else _arduino)(options, out)
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    (out / "summary.json").write_text(text, encoding="utf-8")
    if options.json:
        sys.stdout.write(text)
    else:
        for title, columns in summary["tables"].items():
            show_columns(people, title, columns)
        people.print("\n".join(summary["findings"]), soft_wrap=True)
    people.print(f"figures and numbers in {out}/", soft_wrap=True)
    return 0 if summary["passed"] else 1


def _rrp(_options, out: Path) -> dict:
    from . import rrp, rrp_report

    cases = rrp.comparison(), rrp.profiles(), rrp.open_loop()
    rrp_report.figures(*cases, out)
    tables = rrp_report.tables(*cases)
    poles = [rrp.unstable_pole(rrp.BELIEVED_KG, q) for q in (rrp.Q_BEGIN, rrp.Q_END)]
    passed = all(tables["requirements, worst of all loads"]["met"].values())
    findings = [
        f"Feed-forward alone DIVERGES: held by constant efforts this arm falls, its fastest pole is at +{poles[0]:.2f} to "
        f"+{poles[1]:.2f} 1/s. So the 0.3-0.5 % that the reference notes give for a wrong load cannot be had without feedback.",
        "every requirement is met" if passed else "NOT every requirement is met",
    ]
    return {"passed": passed, "believed_kg": rrp.BELIEVED_KG, "unstable_pole_1_s": poles, "findings": findings, "tables": tables}


def _arduino(options, out: Path) -> dict:
    from . import arduino

    arduino.figure(out / "torque.png")
    return arduino.summarise(options.samples, options.seed)
