"""Outputs of an arm: who commands them, and from which pose; what servo boards and torque drives have in common."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from picker_dynamics.errors import BoardFaultError, InputError, NoPortError, PickerError

if TYPE_CHECKING:  # clients know the states without it
    import numpy as np

    from picker_dynamics.robot.servo_map import ServoMap

    from .clock import Clock

RECONNECT_S = 0.25
"""Pause after an attempt to connect that failed [s]."""

SEEN_S = 0.1
"""So long after a cable was heard its state is one of now [s]."""


class State(Enum):
    OFFLINE = "offline"
    IDLE = "idle"
    ENABLING = "enabling"
    ACTIVE = "active"


def what_enables(status: Mapping[str, str]) -> str:
    """The commands that enable an arm, by what ``hardware/status`` says of it; empty: it is enabled."""
    enable = f"picker enable{' --accept-board' if status.get('accept_needed') == 'true' else ''}"
    if "true" in (status.get("reset_needed"), status.get("stop_latched")):
        return f"picker reset, then {enable}"
    return "" if status.get("state") == State.ACTIVE.value else enable


BY_ITSELF = {
    "offline": "wait; where it stays so, check cable, power and port: the board is connected again by itself",
    "enabling": "wait: the arm is being enabled",
}
BY_PHASE = {"executing": "wait, or picker stop", "streaming": "wait, or picker move --preempt"}
"""State of the hardware, and phase of an enabled arm -> the next sensible command."""


def next_command(hardware: Mapping[str, str], controller: Mapping[str, str]) -> str:
    """The next sensible command, in words."""
    by_state, by_phase = BY_ITSELF.get(hardware.get("state", "")), BY_PHASE.get(controller.get("phase", ""))
    return by_state or what_enables(hardware) or by_phase or "picker home, picker move, or picker park before it is switched off"


def first_command(hardware: Mapping[str, str], controller: Mapping[str, str]) -> str:
    """Command to begin with on an arm that was just started, in words; empty as long as it is on the way there by itself."""
    if hardware.get("state") == "idle" and hardware.get("problem"):  # it says what it waits for
        return f"{what_enables(hardware)}, then picker home"
    taken = hardware.get("commanded") == "true" and controller.get("phase") == "holding"
    return "try picker home" if taken and not what_enables(hardware) else ""


class Routine(str):
    """Remark on the way up or down, which is no warning."""


class Outputs(ABC):
    """Base of the kinds of outputs: state, latched stop, and epochs, each of which begins at a pose that is held.

    Attributes:
        state: ``ACTIVE``: commands are followed.
        problem: what there is to say about it, empty where all is well.
        stop_latched: nothing can be enabled until ``reset``.
        fault_latched: likewise: what went wrong while outputs were commanded; '' where nothing did.
        epoch: counts how often commands had to start anew from ``held``.
        held: (n,) pose that is held, and once commands came where the arm is now [rad or m]; None: unknown
            (joints that are measured keep the last one when they are switched off).
        held_effort: (n,) with which it is held there [N·m or N]; None: not known.
        setpoint: (n,) on the outputs there [rad]; None: these joints take efforts.
    """

    def __init__(self, joint_names: Sequence[str], state: State, problem: str):
        self.joint_names = tuple(joint_names)
        self.state, self.problem = state, problem
        self.stop_latched = False
        self.fault_latched = ""
        self.epoch = 0
        self.held: np.ndarray | None = None
        self.held_effort: np.ndarray | None = None
        self.setpoint: np.ndarray | None = None

    @abstractmethod
    def activate(self, at_rest_pose: bool) -> str:
        """Switch the outputs on, or adopt those that run; returns what is being done.

        Args:
            at_rest_pose: a person has put the arm at its rest pose and says so.

        Raises:
            PickerError: stop or a fault is latched, or the arm's pose is unknown.
        """

    @property
    def board_problem(self) -> str:
        """Why nothing is enabled on the board that is connected: it is another arm's, and nobody has accepted it; '' else."""
        return ""

    def accept_board(self) -> str:
        """Take the board that is connected although it was flashed for other limits; says which.  Moves nothing."""
        raise InputError("this arm has no board", "board")

    @abstractmethod
    def stop(self) -> None:
        """Latch the stop; the arm decelerates and holds."""

    @abstractmethod
    def relax(self) -> None:
        """Switch all outputs off and latch: the arm falls."""

    @abstractmethod
    def disable(self) -> None:
        """Switch all outputs off: the arm falls.  Raises a PickerError where that is not confirmed."""

    @abstractmethod
    def reset(self) -> None:
        """Clear stop and faults whose cause is gone; moves and resumes nothing.  Raises a PickerError for a cause still there."""

    @property
    def engaged(self) -> bool:
        """Whether the outputs are commanded, or are being switched on for that."""
        return self.state in (State.ACTIVE, State.ENABLING)

    @property
    def commanded(self) -> bool:
        """Whether commands of this epoch have come."""
        return False

    @property
    def confirmed(self) -> bool:
        """Whether who drives the outputs still says what became of commands."""
        return True

    @property
    def unseen_s(self) -> float:
        """How long nobody has seen any more what the outputs do [s]; 0: who drives them says so."""
        return 0.0

    @property
    def outputs(self) -> str:
        """State of the outputs: ``running``, ``partly``, or ``off``; else ``unknown``."""
        return "unknown"

    def require_not_stopped(self) -> None:
        """Raise a BoardFaultError while a stop or a fault is latched."""
        if self.stop_latched:
            raise BoardFaultError("stop is latched: call reset first")
        if self.fault_latched:
            raise BoardFaultError(f"{self.fault_latched}: call reset first")

    def begin_epoch(self, held: np.ndarray, remark: str) -> None:
        """Begin an epoch: from now on commands start at ``held`` (n,) [rad or m]."""
        self.held, self.problem = held, remark
        self.epoch += 1


class Closes(Protocol):
    """What a cable is to who waits for it."""

    def close(self) -> None:
        """Close it; may be called again."""


class WiredOutputs(Outputs):
    """Outputs behind a cable, which is opened again where it is lost.

    Args:
        link: the cable, not opened yet.
        servos: joint <-> what is sent.
        clock: host time, the cable's.

    Attributes:
        cancelled: set it to end ``connect``.
        port_comes: of a simulated board: it is no warning that there is no port yet, and joints are enabled sooner.
    """

    link: Closes

    def __init__(self, servos: ServoMap, clock: Clock):
        super().__init__(servos.joint_names, State.OFFLINE, Routine("not connected"))
        self.servos, self.clock, self.cancelled = servos, clock, threading.Event()
        self.relax_latched = self.port_comes = False

    @abstractmethod
    def _open(self) -> None:
        """Open the cable, and look at what is there; then the outputs are idle."""

    def connect(self, give_up_s: float = math.inf) -> None:
        """Open the cable, again and again until what belongs to this arm answers or ``cancelled`` is set; nothing moves.

        Args:
            give_up_s: after so long the last error is raised [s].

        Raises:
            LinkError: cancelled, or nothing answers for so long.
            VersionError, BoardFaultError: likewise, and what is there is another arm's, or speaks another protocol version.
        """
        until_s = self.clock.now() + give_up_s
        while True:
            self.link.close()
            try:
                self._open()
                return
            except PickerError as error:
                self.link.close()
                text = f"{error}; trying again"
                self.problem = Routine(text) if self.port_comes and isinstance(error, NoPortError) else text
                if self.cancelled.is_set() or self.clock.now() >= until_s:
                    raise
                self.clock.sleep(RECONNECT_S)

    def disconnect(self) -> None:
        """Close the cable; the arm holds."""
        self.cancelled.set()
        self.link.close()
        self._leave(State.OFFLINE, Routine("not connected"))

    def stop(self) -> None:
        self.stop_latched = True
        if self.state is not State.OFFLINE:
            self._leave(State.IDLE, "stopped: holding; reset, then enable, to continue")

    def _leave(self, state: State, problem: str) -> None:
        self.state, self.problem = state, problem

    def _unlatch(self, problem: str) -> None:
        self.stop_latched = self.relax_latched = False
        self.fault_latched = ""
        if self.state is State.IDLE:
            self.problem = problem
