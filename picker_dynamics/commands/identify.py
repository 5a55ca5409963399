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


def add_parser(commands) -> None:
    """Register ``identify`` and its verbs."""
    one = commands.add_parser(
        "identify",
        help="find masses, inertias and friction of an arm that measures torque, or what a servo with feedback does",
        description="Dynamic parameters of an arm that measures torque (or current) and position; or of a servo.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.set_defaults(run=run)
    verbs = one.add_subparsers(dest="verb", required=True, metavar="WHAT")

    verb = verbs.add_parser("excite", help="choose a motion that tells the parameters apart, within all limits")
    _arm(verb)
    _excitation(verb)
    _kinds(verb)
    verb.add_argument("-o", "--out", default="out/identification/excitation.json", metavar="FILE")

    verb = verbs.add_parser("run", help="move a running arm through such a motion and keep what it measures (CSV)")
    verb.add_argument("motion", help="file of picker identify excite")
    shared.add(verb, "--namespace", "--host")
    verb.add_argument("-o", "--out", default="out/identification/samples.csv", metavar="FILE")

    verb = verbs.add_parser(
        "fit",
        help="find the parameters from recordings (CSV or bag)",
        description="Columns of a CSV file: "
        "time_s, position_JOINT_rad, effort_JOINT_nm (sliding joints: _m, _n), and if measured "
        "velocity_JOINT_rad_s; position_JOINT_deg, current_JOINT_a.  Bags: joint_states with effort.",
    )
    verb.add_argument("recordings", nargs="+", metavar="FILE", help=".csv, .mcap, .db3 or a bag's folder; several count together")
    _arm(verb)
    _kinds(verb)
    _data(verb)
    verb.add_argument(
        "--payload",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="look for a payload at the tool that the URDF does not have; tried where neither is said",
    )
    verb.add_argument("--allow-open", action="store_true", help="let the URDF stand in for what the recordings do not tell")
    verb.add_argument("-o", "--out", default="out/identification", metavar="DIR", help="folder for identified.urdf and fit.json")

    verb = verbs.add_parser("predict", help="compare a recording's torques with those that a fit predicts")
    verb.add_argument("recordings", nargs=1, metavar="FILE", help=".csv, .mcap, .db3 or the folder of a bag")
    _arm(verb)
    _data(verb)
    verb.add_argument(
        "--fit", default="out/identification/fit.json", metavar="FILE", help="of picker identify fit; none: the URDF alone"
    )
    verb.add_argument("--limit-percent", type=shared.ANY, default=None, metavar="P", help="exit code 1 above this error overall")

    verb = verbs.add_parser("rehearse", help="the whole way with a simulated arm whose numbers are hidden")
    _arm(verb)
    _excitation(verb)
    verb.add_argument("-o", "--out", default="out/identification", metavar="DIR", help="folder for all files")

    _servo(verbs)


def _servo(verbs) -> None:
    verb = verbs.add_parser(
        "servo",
        help="find stiffness, damping and friction of a servo with feedback from logs (CSV)",
        description="Columns: time_s, goal_rad, position_rad (or _deg); load_nm, or a pendulum's mass_kg, length_m, rod_mass_kg "
        "as columns or options; where known voltage_v, enabled (1 or 0), gain (of the servo's position controller).",
    )
    verb.add_argument("logs", nargs="+", metavar="FILE", help="of one servo; several count together")
    verb.add_argument("--mass", type=shared.ANY, default=None, metavar="KG", help="of the pendulum, a point at its end")
    verb.add_argument("--length", type=shared.ANY, default=None, metavar="M", help="of the pendulum, from the servo's axis")
    verb.add_argument(
        "--rod-mass", type=shared.ANY, default=None, metavar="KG", help="of a uniform rod that carries it (default 0)"
    )
    verb.add_argument(
        "--down-deg", type=shared.ANY, default=0.0, metavar="DEG", help="position at which it hangs down (default 0)"
    )
    verb.add_argument(
        "--columns", default=None, metavar="NAMES", help="names of the columns in their order, where the file has none"
    )
    verb.add_argument(
        "--hold-out",
        action="append",
        default=[],
        metavar="FILE",
        help="compare with this log only, may be repeated (default: each log takes its turn; of one, its last 30 %%)",
    )
    verb.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a figure that is known, in SI units: stall_torque=1.1, load_friction=0.4; may be repeated",
    )
    verb.add_argument("-o", "--out", default="out/identification", metavar="DIR", help="folder for servo.json and servo.png")
    shared.add(verb, "--json")


def _arm(verb) -> None:
    shared.add(verb, "--arm", help="an arm of config/arms.yaml, for example rrp")
    shared.add(verb, "--urdf", metavar="FILE", help="URDF of the arm, in place of the named arm's")
    shared.add(verb, "--servos", metavar="FILE", help="servo map of an arm of servos")
    shared.add(verb, "--tip-speed", help="largest speed of the tool")


def _excitation(verb) -> None:
    verb.add_argument("--period", type=shared.ANY, default=10.0, metavar="S", help="of the motion (default 10)")
    verb.add_argument(
        "--periods", type=shared.whole(0, 1_000_000), default=2, metavar="N", help="how often it is repeated (default 2)"
    )
    shared.add(verb, "--seed", "--json")


def _kinds(verb) -> None:
    verb.add_argument("--no-friction", action="store_true", help="look for no friction; the URDF's stays")
    verb.add_argument(
        "--rotors",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="look for rotor inertias too; fit tries them where neither is said, and keeps what explains clearly more",
    )
    verb.add_argument("--offsets", action="store_true", help="look for constant errors of the measured torques too")


def _data(verb) -> None:
    shared.add(verb, "--namespace", default=None, help="of the arm, where a bag has several")
    verb.add_argument("--cutoff-hz", type=shared.ANY, default=5.0, metavar="HZ", help="of the low-pass (default 5)")
    verb.add_argument(
        "--torque-constant",
        action="append",
        default=[],
        metavar="JOINT=NM_PER_A",
        help="currents were measured: N·m (or N) at the joint per ampere, gear included; may be repeated",
    )
    verb.add_argument(
        "--columns",
        default=None,
        metavar="NAMES",
        help="names of a CSV file's columns in their order, where its first line has none: time_s,position_*_rad,-,effort_*_nm "
        "(*: all joints, -: ignored)",
    )
    verb.add_argument("--from", type=shared.ANY, default=None, dest="begin_s", metavar="S", help="use what comes later than this")
    verb.add_argument("--to", type=shared.ANY, default=None, dest="end_s", metavar="S", help="use what comes before this")
    shared.add(verb, "--json")


def run(options) -> int:
    """Carry out the verb; its module needs SciPy and is loaded only now.

    Raises:
        MissingDependencyError: a package is not installed.
        PickerError: an option, file or recording that cannot be used.
    """
    try:
        if options.verb == "servo":
            from .identify_servo import servo as carry_out
        else:
            from .identify_verbs import VERBS

            carry_out = VERBS[options.verb]
    except MissingDependencyError:
        raise
    except ImportError as error:
        raise MissingDependencyError(
            f'{error.name} is not installed; identification needs it: pip install "picker_dynamics[demo]"', subject=error.name
        ) from error
    return carry_out(options)
