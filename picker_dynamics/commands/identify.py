"""``picker identify excite|run|fit|predict|rehearse``: dynamic parameters of an arm that measures torque or current; ``servo``:
those of one servo with feedback."""

from __future__ import annotations

import argparse

from picker_dynamics.errors import MissingDependencyError

from . import options as shared

EXAMPLES = """examples:
  picker identify excite --arm rrp --tip-speed 2                 a motion that tells most: out/identification/excitation.json
  picker up --sim --arm rrp --tip-speed 2                        (in another terminal)
  picker identify run out/identification/excitation.json         move the running arm, keep what it measures: samples.csv
  picker identify fit out/identification/samples.csv --arm rrp   identified.urdf, fit.json; also of a bag: walk.mcap
  picker identify predict other.mcap --arm rrp                   how well that predicts another motion

  picker identify servo a.csv b.csv --mass 0.5 --length 0.1      stiffness and friction of one servo that moved a pendulum
"""

FOLDER = "out/identification"
NUMBER, REPEATED, SWITCH = {"type": shared.ANY}, {"action": "append", "default": []}, {"action": "store_true"}

OPTIONS = shared.SHARED | {
    "motion": {"help": "file of picker identify excite"},
    "recordings": {"nargs": "+", "metavar": "FILE", "help": ".csv, .mcap, .db3 or a bag's folder; several count together"},
    "logs": {"nargs": "+", "metavar": "FILE", "help": "of one servo; several count together"},
    "--period": NUMBER | {"default": 10.0, "metavar": "S", "help": "of the motion (default 10)"},
    "--periods": {"type": shared.whole(1, 1000), "default": 2, "metavar": "N", "help": "how often it is repeated (default 2)"},
    "--no-friction": SWITCH | {"help": "look for no friction; the URDF's stays"},
    "--rotors": {
        "action": argparse.BooleanOptionalAction,
        "help": "look for rotor inertias too; fit tries them where neither is said",
    },
    "--offsets": SWITCH | {"help": "look for constant errors of the measured torques too"},
    "--allow-open": SWITCH | {"help": "let the URDF stand in for what the recordings do not tell"},
    "--cutoff-hz": NUMBER | {"default": 5.0, "metavar": "HZ", "help": "of the low-pass (default 5)"},
    "--torque-constant": REPEATED
    | {"metavar": "JOINT=NM_PER_A", "help": "currents were measured: N·m or N at the joint per ampere; may be repeated"},
    "--columns": {"metavar": "NAMES", "help": "the columns of a CSV file without names (*: all joints, -: ignored)"},
    "--from": NUMBER | {"dest": "begin_s", "default": 0.0, "metavar": "S", "help": "use what comes later than this"},
    "--to": NUMBER | {"dest": "end_s", "default": 1e6, "metavar": "S", "help": "use what comes before this"},
    "--fit": {"default": f"{FOLDER}/fit.json", "metavar": "FILE", "help": "of picker identify fit; none: the URDF alone"},
    "--limit-percent": NUMBER | {"metavar": "P", "help": "exit code 1 above this error overall"},
    "--mass": NUMBER | {"metavar": "KG", "help": "of the pendulum, a point at its end"},
    "--length": NUMBER | {"metavar": "M", "help": "of the pendulum, from the servo's axis"},
    "--rod-mass": NUMBER | {"metavar": "KG", "help": "of a uniform rod that carries it (default 0)"},
    "--down-deg": NUMBER | {"default": 0.0, "metavar": "DEG", "help": "position at which it hangs down (default 0)"},
    "--hold-out": REPEATED
    | {"metavar": "FILE", "help": "compare with this log only (default: each takes its turn; of one, its last 30 %%)"},
    "--fix": REPEATED | {"metavar": "NAME=NUMBER", "help": "a figure that is known, in SI units; may be repeated"},
}

ARM = "--arm --urdf --servos --tip-speed"
EXCITATION = "--period --periods --seed --json"
KINDS = "--no-friction --rotors --offsets"
DATA = "--namespace --cutoff-hz --torque-constant --columns --from --to --json"

VERBS = {
    "excite": (
        "choose a motion that tells the parameters apart, within all limits",
        "/excitation.json",
        f"{ARM} {EXCITATION} {KINDS}",
    ),
    "run": ("move a running arm through such a motion and keep what it measures (CSV)", "/samples.csv", "motion --namespace"),
    "fit": ("find the parameters from recordings (CSV or bag)", "", f"recordings {ARM} {KINDS} {DATA} --allow-open"),
    "predict": (
        "compare a recording's torques with those that a fit predicts",
        None,
        f"recordings {ARM} {DATA} --fit --limit-percent",
    ),
    "rehearse": ("the whole way with a simulated arm whose numbers are hidden", "", f"{ARM} {EXCITATION}"),
    "servo": (
        "find stiffness, damping and friction of a servo with feedback from logs (CSV)",
        "",
        "logs --mass --length --rod-mass --down-deg --columns --hold-out --fix --json",
    ),
}
"""Help, what is written in ``FOLDER`` (empty: the folder itself), arguments."""


def add_parser(commands) -> None:
    """Register ``identify`` and its verbs."""
    one = commands.add_parser(
        "identify",
        help="find masses, inertias and friction of an arm that measures torque, or what a servo with feedback does",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.set_defaults(run=run)
    verbs = one.add_subparsers(dest="verb", required=True, metavar="WHAT")
    for name, (text, written, arguments) in VERBS.items():
        verb = verbs.add_parser(name, help=text, description=f"{text}; docs/identification.md")
        for argument in arguments.split():
            verb.add_argument(argument, **OPTIONS[argument])
        if written is not None:
            verb.add_argument("-o", "--out", default=FOLDER + written, metavar="PATH", help="where it is written")


def run(options) -> int:
    """Carry out the verb; its module needs SciPy and is loaded only now.

    Raises:
        MissingDependencyError: a package is not installed.
        PickerError: an option, file or recording that cannot be used.
    """
    try:
        from . import identify_servo, identify_verbs
    except MissingDependencyError:
        raise
    except ImportError as error:
        what = f'{error.name} is not installed; identification needs it: pip install "picker_dynamics[demo]"'
        raise MissingDependencyError(what, subject=error.name) from error
    return {**identify_verbs.VERBS, "servo": identify_servo.servo}[options.verb](options)
