"""``picker record`` and ``picker plot``: what a running arm said, to a file of the ecosystem's, and figures from it.

The file is MCAP with the messages as they came and their definitions, as ``ros2 bag`` writes and Foxglove reads it.
"""

from __future__ import annotations

from picker_dynamics.errors import MissingDependencyError

__all__ = ["add_parser", "missing"]


def missing(error: ImportError) -> MissingDependencyError:
    """What to say where a package of the extra is not installed."""
    return MissingDependencyError(f'{error.name} is not installed; recordings need it: pip install "picker_dynamics[record]"',
                                  joint=error.name)


def add_parser(commands) -> None:
    """The two commands."""
    record = commands.add_parser("record", help="record references, commands, states and torques to an MCAP file")
    record.add_argument("-o", "--out", default=None, metavar="FILE", help="default: picker_DATE_TIME.mcap")
    record.add_argument("--duration", type=float, default=None, metavar="S", help="end by itself after that long")
    record.add_argument("--namespace", default="", help="ROS namespace of the running graph")
    record.set_defaults(run=_record)
    plot = commands.add_parser("plot", help="figures from a recording, ours or any rosbag2 (MCAP or SQLite)")
    plot.add_argument("file", help="an .mcap or .db3 file, or the folder of a bag")
    plot.add_argument("-o", "--out", default="", metavar="DIR", help="folder for the figures (default: beside the file)")
    plot.add_argument("--namespace", default=None, help="of the arm, where the recording has several")
    plot.add_argument("--arm", default="", metavar="NAME", help="an arm of config/arms.yaml (default: as recorded)")
    plot.add_argument("--urdf", default="", help="URDF of the arm")
    plot.add_argument("--servos", default="", help="servo map")
    plot.set_defaults(run=_plot)


def _record(options) -> int:
    from picker_dynamics.recording.record import record

    return record(options.out, options.duration, options.namespace)


def _plot(options) -> int:
    from picker_dynamics.recording.plot import plot

    return plot(options)
