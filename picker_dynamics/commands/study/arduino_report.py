"""The Arduino study for a person."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .arduino import JOINTS


def show(summary: dict, console: Console) -> None:
    """Print the tables of a summary."""
    console.print(_errors(summary))
    console.print(_parts(summary))
    inertia = summary["stretched_out"]
    console.print(
        "Gravity is exact. Inertia is not: stretched out, the formulas have "
        + ", ".join(f"{100 * inertia[joint]['ratio']:.0f} % of the {joint}'s" for joint in inertia)
        + " inertia, and none of the coupling between joints.",
        soft_wrap=True,
    )
    console.print(_degrees(summary["degrees"]))
    slip = summary["degrees"]
    coriolis = slip["elbow_coriolis_at_1_rad_s"]
    console.print(
        f"Products of rates in degrees per second are {slip['rate_products_times']:.0f} times too large: at 1 rad/s "
        f"the elbow's Coriolis torque becomes {coriolis['degrees']:.1f} N·m instead of {coriolis['radians']:.4f} N·m.",
        soft_wrap=True,
    )


def _table(title: str, headings) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("joint")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _errors(summary: dict) -> Table:
    table = _table(
        f"simplified formulas less the exact model, {summary['samples']:,} random states [N·m]",
        ["RMS error", "largest", "RMS torque", "error", "of what the motion needs"],
    )
    for joint in JOINTS:
        row = summary["joints"][joint]
        table.add_row(
            joint,
            f"{row['rms_error']:.4f}",
            f"{row['largest_error']:.3f}",
            f"{row['rms_torque']:.4f}",
            f"{row['error_percent_of_torque']:.1f} %",
            f"{row['error_percent_of_motion_torque']:.0f} %",
        )
    return table


def _parts(summary: dict) -> Table:
    table = _table(
        "RMS error by part, and with a berry that the formulas do not know [N·m]",
        ["gravity", "inertia", "Coriolis", f"all, with {1e3 * summary['berry_kg']:.0f} g"],
    )
    for joint in JOINTS:
        row = summary["joints"][joint]
        table.add_row(
            joint,
            f"{row['rms_error_of_gravity']:.4f}",
            f"{row['rms_error_of_inertia']:.4f}",
            f"{row['rms_error_of_coriolis']:.4f}",
            f"{row['rms_error_with_berry']:.4f}",
        )
    return table


def _degrees(slip: dict) -> Table:
    pose = ", ".join(f"{angle:g}" for angle in slip["start_pose_deg"])
    table = _table(
        "degrees where radians belong: gravity torque over servo angles of 0 to 180 degrees, and at the program's "
        f"first pose ({pose}) [N·m]",
        ["RMS error", "RMS torque", "error", "first pose: says", "needs"],
    )
    for joint, row in slip["joints"].items():
        table.add_row(
            joint,
            f"{row['rms_error_of_gravity']:.3f}",
            f"{row['rms_gravity']:.3f}",
            f"{row['error_percent_of_gravity']:.0f} %",
            f"{row['start_pose_said']:+.3f}",
            f"{row['start_pose_needed']:+.3f}",
        )
    return table
