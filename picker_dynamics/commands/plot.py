"""``picker plot``: a figure of a recording, a row for each joint, and one line a joint of what is in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.recording.messages import missing
from picker_dynamics.recording.reader import ArmRecording, Bounds, Series, read, tracking_error, with_gaps
from picker_dynamics.robot.units import told_in
from picker_dynamics.scripting.equipment import recorded_arm

from . import options as shared

FORMATS = ".png", ".svg", ".pdf"
"""Endings of a figure's file; all else names a folder."""

LEAST = 5.0, 1.0
"""What axes of positions and of tracking errors span at the least [deg or mm]: noise does not fill them."""

REFERENCE, STATE, SETPOINT = "#1f1f1f", "#2471a3", "#e67e22"


def add_parser(commands) -> None:
    """Register ``plot``."""
    parser = commands.add_parser("plot", help="plot a recording: MCAP or SQLite, of picker record or ros2 bag")
    parser.add_argument("file", help="an .mcap or .db3 file, or the folder of a bag")
    parser.add_argument("-o", "--out", default="", metavar="PATH", help="folder for the figure, or its file: .png, .svg, .pdf")
    shared.add(parser, "--namespace", default=None, help="namespace of the arm, if the recording has several")
    shared.add(parser, "--arm", help="name of an arm in config/arms.yaml (default: as recorded)")
    shared.add(parser, "--urdf", help="URDF of the arm")
    shared.add(parser, "--servos", help="servo map")


def run(options) -> int:
    """Draw; returns the exit code.

    Raises:
        RecordingError, ConfigurationError, DescriptionError, MissingDependencyError: with the reason.
    """
    recorded = read(options.file, options.namespace)
    limits = limits_of(recorded, options.urdf or options.arm, options.servos)
    source = Path(options.file)
    path = Path(options.out) if options.out else source.parent
    if path.suffix.lower() not in FORMATS:
        path /= f"{source.stem}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(recorded, limits, path)
    note = [f"note: {recorded.damaged}"] if recorded.damaged else []
    print("\n".join([*summary(recorded, limits), f"figure: {path}", *note]))
    return 0


def draw(recorded: ArmRecording, limits: Bounds | None, path: Path) -> None:
    """Write a figure with a row for each joint: positions, tracking error, torque within its bounds.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        from . import report
    except ImportError as error:
        raise missing(error) from error
    off = tracking_error(recorded.reference, recorded.state)
    every = [s for s in (recorded.reference, recorded.state, recorded.setpoint, recorded.torque, recorded.state_torque) if len(s)]
    start, end = min(series.t[0] for series in every), max(series.t[-1] for series in every)
    panels: list[report.Panel] = []
    for j, joint in enumerate(recorded.joint_names):
        factor, unit = told_in(limits.units[j]) if limits else (1.0, "rad or m")

        def line(series: Series, label: str, colour: str, times: float = factor, j: int = j, **style):
            broken = with_gaps(series)
            return broken.t - start, times * broken.values[:, j], {"label": label, "color": colour} | style

        positions = [
            line(recorded.setpoint, "servo set-point", SETPOINT),
            line(recorded.reference, "reference", REFERENCE, ls="--"),
            line(recorded.state, "state", STATE),
        ]
        torques = [
            line(recorded.state_torque, "torque (state)", STATE, 1.0),
            line(recorded.torque, "torque (command)", SETPOINT, 1.0),
        ]
        for what, bound, style in zip(("stall", "motion limit", "hold limit"), limits[:3] if limits else (), ("-", "--", ":")):
            for sign in (-1.0, 1.0):
                level = [0.0, end - start], [sign * bound[j]] * 2, {"color": "0.45", "ls": style}
                torques.append((*level[:2], level[2] | ({"label": what} if sign > 0.0 else {})))
        scale = 1.0 if limits else 0.01  # without an arm the unit is radian or metre
        named = {"title": joint, "xlabel": "time [s]"}
        panels += [
            (positions, named | {"ylabel": f"position [{unit}]", "least": LEAST[0] * scale}),
            ([line(off, "state - reference", STATE)], named | {"ylabel": f"tracking error [{unit}]", "least": LEAST[1] * scale}),
            (torques, named | {"ylabel": "force [N]" if unit == "mm" else "torque [N·m]"}),
        ]
    report.draw(path, path.stem, 3, panels)


def limits_of(recorded: ArmRecording, arm: str = "", servos: str = "") -> Bounds | None:
    """The limits of the recorded arm: as the graph told it, or as named; None where nothing says which arm it was.

    Raises:
        ConfigurationError, DescriptionError: the arm that was asked for does not exist, or has other joints.
    """
    known = recorded_arm(recorded, arm, servos)
    described, limits = known.description, known.limits
    names, other = recorded.joint_names, ", ".join(described.joint_names)
    if set(described.joint_names) != set(names):
        if not (arm or servos):
            return None
        text = f"the recording has the joints {', '.join(names)}, {described.name} has {other}"
        raise ConfigurationError(text, "arm", described.name)
    order = [described.joint_names.index(joint) for joint in names]
    full, peak, hold = (np.asarray(one)[order] for one in (limits.full, limits.peak, limits.hold))
    return Bounds(full, peak, hold, tuple(described.position_units[i] for i in order))


def summary(recorded: ArmRecording, limits: Bounds | None) -> list[str]:
    """Summary of a recording, one line a joint: tracking error, and torque as a share of what the joint gives at the most."""
    error = tracking_error(recorded.reference, recorded.state).values
    torque = (recorded.torque if len(recorded.torque) else recorded.state_torque).values
    lines = [
        f"{len(recorded.state)} states, {len(recorded.reference)} references, {len(recorded.setpoint)} set-points, "
        f"{len(recorded.events)} outcomes of goals" + (f", arm {recorded.arm}" if recorded.arm else "")
    ]
    for j, joint in enumerate(recorded.joint_names):
        factor, unit = told_in(limits.units[j]) if limits else (1.0, "rad or m")
        known = factor * error[np.isfinite(error[:, j]), j]
        line = f"{joint}: no error"
        if known.size:
            line = f"{joint}: error at most {np.abs(known).max():.3g} {unit}, rms {np.sqrt(np.mean(known**2)):.3g} {unit}"
        if len(torque):
            peak = float(np.abs(torque[:, j]).max())
            share = f" ({100.0 * peak / limits.stall[j]:.0f} % of stall)" if limits else ""
            line += f", torque at most {peak:.3f} {'N' if unit == 'mm' else 'N·m'}{share}"
        lines.append(line)
    return lines
