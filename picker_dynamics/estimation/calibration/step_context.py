"""Context of a calibration step: the session, whoever answers, and the arm, which is switched on when first it has to move."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from picker_dynamics.errors import PickerError

from .arm_estimate import ArmEstimate
from .mover import Mover
from .person import Guide, OpenQuestionError, Terminal
from .readings import position
from .session import Session

SETTLE_S = 2.5
"""A stretched shoulder comes to rest in 1.7 s."""


class LeaveError(PickerError):
    """A person wants to go on another time; what was answered is kept."""

    exit_code = 0


@dataclass
class StepContext(Guide):
    """Session, person and arm of a step: what it asks, notes and moves with.

    Args:
        session, person: of this run; person None: answers on file have to do.
        mover: of the arm; None: nothing moves, answers on file have to do.
        folder: for files.
        step: whose questions these are.
        switched: ``taken over``: outputs that ran were; ``on``: all outputs run; the same set for all steps.
        seed: of the poses to be visited.
        when: date, for the files.
        settle_s: how long the arm comes to rest before something is read [s].
        repeats: how often each link is weighed, balanced and swung.
        quick: zeros and stiffness alone, from few answers.
        urdf, servos, overlay: files, for the commands that are shown; "": the picker's.
    """

    session: Session
    person: Terminal | None
    mover: Mover | None
    folder: Path
    seed: int = 0
    when: str = ""
    settle_s: float = SETTLE_S
    repeats: int = 3
    urdf: str = ""
    servos: str = ""
    overlay: str = ""
    quick: bool = False
    step: str = ""
    switched: set[str] = field(default_factory=set)

    def of(self, step: str) -> StepContext:
        """Context for another step; what is switched on stays known."""
        return replace(self, step=step)

    @property
    def arm_is_on(self) -> bool:
        """Whether all outputs were switched on."""
        return "on" in self.switched

    def arm(self, estimate: ArmEstimate) -> Mover:
        """The arm, all outputs on; asks before it switches any on, or, where all of them run, before it moves at first.

        Raises:
            OpenQuestionError: there is no arm, or nobody to ask.
            LeaveError: the person said no.
            PickerError: a fault, no link.
        """
        mover = self.port()
        if not self.arm_is_on:
            self.take_over()
            self.of("power").switch_on(mover, estimate)
            self.switched.add("on")
        return mover

    def port(self) -> Mover:
        """The arm as it is, perhaps off.

        Raises:
            OpenQuestionError: there is none.
        """
        if self.mover is None or self.person is None:
            raise OpenQuestionError(
                "the arm has to be connected for this: give its --port, or --step for one that needs no arm (links)",
                subject="port",
            )
        return self.mover

    def take_over(self) -> None:
        """Take over outputs that run already; faults are told first.

        Raises:
            LeaveError: the person leaves a fault latched.
        """
        if "taken over" in self.switched:
            return
        outputs, guide = self.port().outputs, self.of("power")
        if outputs.faults:
            guide.tell(outputs.faults, "warning")
            if not guide.agree(
                "reset",
                "The board is stopped by this. Is its cause gone, and the arm safe? yes clears it; nothing moves by that.",
            ):
                raise LeaveError("the fault stays latched; the arm holds")
            outputs.reset()
        if outputs.found_live:
            guide.tell(
                f"Outputs run already and hold: {', '.join(outputs.found_live)}. They are taken over as they stand; "
                "nothing moves by that.",
                "hint",
            )
            outputs.adopt()
        self.switched.add("taken over")

    def switch_on(self, mover: Mover, estimate: ArmEstimate) -> None:
        servos = estimate.known_servos
        off = [joint for joint, live in enumerate(mover.live) if not live]
        if not off:
            if not self.agree("move", "All outputs run, and the arm moves from here on. Are hands out of it?"):
                raise LeaveError("nothing was moved; the arm holds")
            return
        self.tell(
            "The servos have no power yet, and nobody knows where they are: each one jumps to its rest pose when its "
            "output starts.\nPut the arm at its rest pose, folded, as near as you can, on a box or against something. "
            "Keep the switch of the servo supply at hand.\nThe joints are switched on one after the other; keep hands "
            "out of the arm from here on. Ctrl-C stops it at any time.",
            "warning",
        )
        pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(servos.rest)))
        for joint in off:
            name, at = servos.joint_names[joint], position(servos.rest[joint], servos.servos[joint].slides, "+.0f")
            if not self.agree(f"on.{name}", f"Switch {name} on, at its rest pose ({at}, {pulses[joint]:.0f} us)?", about=(name,)):
                raise LeaveError(f"{name} is off; what is on holds")
            mover.outputs.switch_on(joint, float(pulses[joint]))
            mover.outputs.wait(min(0.5, self.settle_s))

    def require_sound(self) -> None:
        """Raises where the board stopped or is gone while a person read."""
        if self.mover is not None and self.arm_is_on:
            self.mover.outputs.wait(0.0)

    def command(self, name: str, overlay: str) -> str:
        """A ``picker`` command for this arm, with files as they were given."""
        words = [
            f"picker {name}",
            *(
                f"{option} {value}"
                for option, value in (("--urdf", self.urdf), ("--servos", self.servos), ("--servo-overlay", overlay))
                if value
            ),
        ]
        return " ".join(words)
