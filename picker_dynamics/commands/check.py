"""``picker check``: lint a URDF and compare the models made from it."""

from __future__ import annotations

from picker_dynamics.resources import resource

from . import options as shared


def add_parser(commands) -> None:
    """Register ``check``."""
    check = commands.add_parser("check", help="check a URDF and compare its dynamics models")
    check.add_argument("urdf", nargs="?", default="", help="URDF file (default: the picker's)")
    check.add_argument("--strict", action="store_true", help="findings are errors")
    check.add_argument("--samples", type=shared.whole(1, 1_000_000), default=1000, help="random states to compare (default 1000)")
    check.add_argument("-v", "--verbose", action="store_true", help="print the residual of each term of the models")
    shared.add(check, "--seed", "--json")


def run(options) -> int:
    """Print findings and residuals; the exit code is the check's."""
    from picker_dynamics.dynamics import check

    return check.run(
        options.urdf or resource("urdf/picker.urdf"),
        strict=options.strict,
        samples=options.samples,
        seed=options.seed,
        as_json=options.json,
        verbose=options.verbose,
    )
