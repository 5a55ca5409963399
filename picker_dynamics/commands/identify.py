"""``picker identify excite|run|fit|predict``: numbers of an arm that measures torque; ``servo``: those of one servo."""

from __future__ import annotations

import argparse
from typing import Any

from . import options as shared

EXAMPLES = """examples:
  picker identify excite --arm rrp --tip-speed 2                 a motion that tells most: out/identification/excitation.json
  picker up --sim --arm rrp --tip-speed 2                        (in another terminal)
  picker identify run out/identification/excitation.json         move the running arm, keep what it measures: samples.csv
  picker identify fit out/identification/samples.csv --arm rrp   identified.urdf, fit.json; also of a bag: walk.mcap
  picker identify predict other.mcap --arm rrp                   how well that predicts another motion

  picker identify servo a.csv b.csv --mass 500 --length 0.1      stiffness and friction of one servo that moved a pendulum
"""

FOLDER = "out/identification"
NUMBER, REPEATED = {"type": shared.ANY}, {"action": "append", "default": []}

OPTIONS: dict[str, dict[str, Any]] = shared.SHARED | {
    "motion": {"help": "file of picker identify excite"},
    "recording": {"metavar": "FILE", "help": ".csv, .mcap, .db3 or a bag's folder"},
    "recordings": {"nargs": "+", "metavar": "FILE", "help": ".csv, .mcap, .db3 or a bag's folder; several count together"},
    "logs": {"nargs": "+", "metavar": "FILE", "help": "of one servo; several count together"},
    "--period": NUMBER | {"default": 10.0, "metavar": "S", "help": "of the motion (default 10)"},
    "--periods": {"type": shared.whole(1, 1000), "default": 2, "metavar": "N", "help": "how often it is repeated (default 2)"},
    "--allow-open": {"action": "store_true", "help": "let the URDF stand in for what the recordings do not tell"},
    "--cutoff-hz": NUMBER | {"default": 5.0, "metavar": "HZ", "help": "of the low-pass (default 5)"},
    "--torque-constant": REPEATED
    | {"metavar": "JOINT=NM_PER_A", "help": "currents were measured: N·m or N at the joint per ampere; may be repeated"},
    "--fit": {"default": f"{FOLDER}/fit.json", "metavar": "FILE", "help": "of picker identify fit; none: the URDF alone"},
    "--mass": {"type": shared.mass(), "metavar": "GRAMS", "help": "of the pendulum, a point at its end; or with its unit: 0.5kg"},
    "--length": NUMBER | {"metavar": "M", "help": "of the pendulum, from the servo's axis"},
    "--rod-mass": {"type": shared.mass(), "metavar": "GRAMS", "help": "of a uniform rod that carries it (default 0)"},
    "--hold-out": REPEATED | {"metavar": "FILE", "help": "a log that is not fitted, but predicted; may be repeated"},
}

ARM = "--arm --urdf --tip-speed --json"
DATA = "--namespace --cutoff-hz --torque-constant"

VERBS = {
    "excite": (
        "choose a motion that tells the parameters apart, within all limits",
        "/excitation.json",
        f"{ARM} --period --periods --seed",
    ),
    "run": (
        "move a running arm through such a motion and keep what it measures (CSV)",
        "/samples.csv",
        "motion --namespace --host",
    ),
    "fit": ("find the parameters from recordings (CSV or bag)", "", f"recordings {ARM} {DATA} --allow-open"),
    "predict": ("compare a recording's torques with those that a fit predicts", None, f"recording {ARM} {DATA} --fit"),
    "servo": (
        "find stiffness, damping and friction of a servo with feedback from logs (CSV)",
        "",
        "logs --mass --length --rod-mass --hold-out --json",
    ),
}
"""Help, what is written in ``FOLDER`` (empty: the folder itself), arguments."""


def add_parser(commands) -> None:
    """Register ``identify`` and its verbs."""
    one = commands.add_parser(
        "identify",
        help="identify masses, inertias and friction of an arm that measures torque, or the figures of a servo with feedback",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = one.add_subparsers(dest="verb", required=True, metavar="WHAT")
    for name, (text, written, arguments) in VERBS.items():
        verb = verbs.add_parser(name, help=text, description=f"{text}; docs/identification.md")
        for argument in arguments.split():
            verb.add_argument(argument, **OPTIONS[argument])
        if written is not None:
            verb.add_argument("-o", "--out", default=FOLDER + written, metavar="PATH", help="file or folder to write")


def run(options) -> int:
    """Carry out the verb; its module needs SciPy and is loaded only now.

    Raises:
        PickerError: an option, file or recording that cannot be used.
    """
    from . import identify_verbs

    return identify_verbs.VERBS[options.verb](options)
