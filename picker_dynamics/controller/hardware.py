"""Hardware of an arm as the control loop uses it: what is read of it, and what is written to it, once a cycle.

A kind of hardware (``ServoBoard``, ``SimulatedTorqueArm``) has

    session         its state, latched stops and faults, and the pose from which commands start
    takes_efforts   it takes efforts, and measures its joints; else it takes set-points, and its joint states are modelled
    source          share of its nominal voltage that the servos' supply gives without load; 1 where nobody measures it
    read(now_s)     takes what it says; the arm's state, None where nobody knows it
    write(...)      sends a command; whether it was sent; a PickerError where it cannot be
    set_model(...)  takes the arm with another payload; a PickerError where it cannot be held with that
"""

from __future__ import annotations

from dataclasses import dataclass

from picker_dynamics.robot.model import Array


@dataclass(frozen=True, eq=False)
class Command:
    """Command for one moment.

    Attributes:
        time_s: when the set-point holds, or the time of the state that the effort answers [s].
        effort: (n,) torques that the joints need [N·m or N].
        setpoint: (n,) of position servos [rad or m]; None: the joints take efforts.
    """

    time_s: float
    effort: Array
    setpoint: Array | None = None
