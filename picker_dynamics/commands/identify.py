"""``picker identify excite|run|fit|predict|rehearse``: dynamic parameters of an arm that measures torque or current."""

from __future__ import annotations

import argparse

from picker_dynamics.errors import MissingDependencyError

EXAMPLES = """examples:
  picker identify excite --arm rrp --tip-speed 2                 a motion that tells most: out/identification/excitation.json
  picker up --sim --arm rrp --tip-speed 2                        (in another terminal)
  picker identify run out/identification/excitation.json         move the running arm, keep what it measures: samples.csv
  picker identify fit out/identification/samples.csv --arm rrp   identified.urdf, fit.json; also of a bag: walk.mcap
  picker identify predict other.mcap --arm rrp                   how well that predicts another motion
"""


def add_parser(commands) -> None:
    """Register ``identify`` with an argparse sub-parser group; imports nothing heavy."""
    one = commands.add_parser(
        "identify",
        help="find masses, inertias and friction of an arm that measures torque",
        description="Dynamic parameters of an arm that measures torque (or current) and position.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = one.add_subparsers(dest="verb", required=True, metavar="WHAT")
    _add_excite(verbs)
    _add_run(verbs)
    _add_fit(verbs)
    _add_predict(verbs)
    _add_rehearse(verbs)


def _arm(verb) -> None:
    verb.add_argument("--arm", default="", metavar="NAME", help="an arm of config/arms.yaml, for example rrp")
    verb.add_argument("--urdf", default="", metavar="FILE", help="URDF of the arm, in place of the named arm's")
    verb.add_argument("--servos", default="", metavar="FILE", help="servo map of an arm of servos")
    verb.add_argument("--tip-speed", type=float, default=None, metavar="M_S", help="largest speed of the tool")


def _excitation(verb) -> None:
    verb.add_argument("--period", type=float, default=10.0, metavar="S", help="of the motion (default 10)")
    verb.add_argument("--periods", type=int, default=2, metavar="N", help="how often it is repeated (default 2)")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("--json", action="store_true", help="print JSON")


def _kinds(verb) -> None:
    verb.add_argument("--no-friction", action="store_true", help="look for no friction; the URDF's stays")
    verb.add_argument("--rotors", action="store_true", help="look for rotor inertias too")
    verb.add_argument("--offsets", action="store_true", help="look for constant errors of the measured torques too")


def _data(verb) -> None:
    verb.add_argument("--namespace", default=None, help="of the arm, where a bag has several")
    verb.add_argument("--cutoff-hz", type=float, default=5.0, metavar="HZ", help="of the low-pass (default 5)")
    verb.add_argument(
        "--torque-constant",
        action="append",
        default=[],
        metavar="JOINT=NM_PER_A",
        help="currents were measured: N·m (or N) at the joint per ampere, gear included; may be repeated",
    )
    verb.add_argument("--from", type=float, default=None, dest="begin_s", metavar="S", help="use what comes later than this")
    verb.add_argument("--to", type=float, default=None, dest="end_s", metavar="S", help="use what comes before this")
    verb.add_argument("--json", action="store_true", help="print JSON")


def _add_excite(verbs) -> None:
    verb = verbs.add_parser("excite", help="choose a motion that tells the parameters apart, within all limits")
    _arm(verb)
    _excitation(verb)
    _kinds(verb)
    verb.add_argument("-o", "--out", default="out/identification/excitation.json", metavar="FILE")
    verb.set_defaults(run=lambda options: _handlers().excite(options))


def _add_run(verbs) -> None:
    verb = verbs.add_parser("run", help="move a running arm through such a motion and keep what it measures (CSV)")
    verb.add_argument("motion", help="file of picker identify excite")
    verb.add_argument("--namespace", default="", help="ROS namespace of the running graph")
    verb.add_argument("-o", "--out", default="out/identification/samples.csv", metavar="FILE")
    verb.set_defaults(run=lambda options: _handlers().run(options))


def _add_fit(verbs) -> None:
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
    verb.add_argument("--allow-open", action="store_true", help="let the URDF stand in for what the recordings do not tell")
    verb.add_argument("-o", "--out", default="out/identification", metavar="DIR", help="folder for identified.urdf and fit.json")
    verb.set_defaults(run=lambda options: _handlers().fit(options))


def _add_predict(verbs) -> None:
    verb = verbs.add_parser("predict", help="compare a recording's torques with those that a fit predicts")
    verb.add_argument("recordings", nargs=1, metavar="FILE", help=".csv, .mcap, .db3 or the folder of a bag")
    _arm(verb)
    _data(verb)
    verb.add_argument(
        "--fit", default="out/identification/fit.json", metavar="FILE", help="of picker identify fit; none: the URDF alone"
    )
    verb.add_argument("--limit-percent", type=float, default=None, metavar="P", help="exit code 1 above this error overall")
    verb.set_defaults(run=lambda options: _handlers().predict(options))


def _add_rehearse(verbs) -> None:
    verb = verbs.add_parser("rehearse", help="the whole way with a simulated arm whose numbers are hidden")
    _arm(verb)
    _excitation(verb)
    verb.add_argument("-o", "--out", default="out/identification", metavar="DIR", help="folder for all files")
    verb.set_defaults(run=lambda options: _handlers().rehearse(options))


def _handlers():
    try:
        from . import identify_handlers as handlers
    except MissingDependencyError:
        raise
    except ImportError as error:
        raise MissingDependencyError(
            f'{error.name} is not installed; identification needs it: pip install "picker_dynamics[demo]"', subject=error.name
        ) from error
    return handlers
