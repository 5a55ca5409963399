"""Rehearsal of a calibration (``picker calibrate --simulated``): simulated person, simulated arm, and the truth.

The session is the same as with a board and a terminal.  Questions are answered from the arm's truth, with the noise of real
instruments; time passes as fast as it can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from picker_dynamics.board.link import Link
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.sim.board_in_memory import BoardInMemory

from .arm_estimate import ArmEstimate, given
from .evaluate import exact, tip_error_report, usual_paths
from .instruments import ANGLE_SD, INCLINOMETER_SD, RULER_SD, Inclinometer
from .mover import Mover
from .questions import Question
from .simulated import SimulatedBench
from .steps.result import link_figures, servo_figures


class SimulatedPerson:
    """Answers as a person at the bench would: by what a question is ``about``, or its first word.

    Args:
        world: the arm, or what is seen of it and done to it in the same way.
        rng: of the readings' noise.
        show: where questions and answers are told.
    """

    def __init__(
        self, world: SimulatedBench, rng: np.random.Generator, show: Callable[[str, str], None] = lambda _text, _style: None
    ):
        self.world, self.rng, self._show = world, rng, show
        self._links: dict[tuple[str, str], list[str]] = {}
        self.asked = 0

    def tell(self, text: str, style: str = "") -> None:
        """Show what the person is told."""
        self._show(text, style)

    def ask(self, question: Question) -> str:
        """Answer of the simulated person, which is shown."""
        self.asked += 1
        answer = self.answer(question)
        self._show(f"{question.text}  {answer}", "hint")
        return answer

    def answer(self, question: Question) -> str:
        """Answer to a question, as the person types it."""
        kind, *about = question.about or ("",)
        if kind and not (kind == "joint" and "" in question.words):
            return str(getattr(self, f"_{kind}")(*about))
        return next((word for word in ("yes", "") if word in question.words), next(iter(question.words)))

    def _hang(self, mass: float, point: Sequence[float]) -> str:
        self.world.hang(mass, point)
        return "yes"

    def _weight(self, mass: float) -> str:
        return f"{1e3 * mass:.0f} g"

    def _joint(self, name: str) -> str:
        """Where a joint stands from its zero, by a ruler."""
        arm = self.world.description
        slides, q = arm.joint(name).type == "prismatic", self.world.q()[arm.joint_names.index(name)]
        value = q + self.rng.normal(0.0, RULER_SD if slides else ANGLE_SD)
        return f"{1e3 * value if slides else math.degrees(value):.2f}"

    def _sensor(self, sensor: Inclinometer) -> str:
        value = float(sensor.of(link_poses(self.world.description, self.world.q())))
        return f"{math.degrees(value + self.rng.normal(0.0, INCLINOMETER_SD)):.2f}"

    def _link(self, name: str, what: str) -> str:
        left = self._links.setdefault((name, what), [])
        if not left:  # at first, and where more readings are asked for
            one = self.world.link(name)
            left += {
                "mass": [f"{1e3 * kg:.0f} g" for kg in one.masses_kg],
                "balance": [f"{1e3 * m:.1f} mm" for m in one.balances_m] or ["0"],
                "swings": [f"{seconds:.2f} s" for seconds in one.swing_times_s],
            }[what]
        return left.pop(0)


class BoardOnBench(SimulatedBench):
    """An arm behind a board in memory that was flashed for ``servos``, and is sent the protocol's bytes as a real one is."""

    def __post_init__(self) -> None:
        self.board = board = BoardInMemory(self.plant, self.servos)
        link = Link("memory", joint_names=self.servos.joint_names, clock=board, open_port=board.open)
        board.on_arrival = link.poll
        self.mover = Mover(link, self.servos, board)
        self.mover.take()

    def wait(self, seconds: float) -> None:
        """Let the arm rest."""
        self.mover.wait(seconds)


class Rehearsal:
    """The simulated arm, person and board of one session.

    Args:
        urdf, servos, overlay: files, "": the picker's.
        settings: ``plant_error`` and ``seed`` of the hidden errors.
        show: where questions and answers are told.
    """

    def __init__(self, urdf: str, servos: str, overlay: str, settings: dict[str, Any], show: Callable[[str, str], None]):
        arm, self.believed = given(urdf, servos, overlay)
        self.simulated, self.settings = given(urdf, servos, overlay, simulated=True)[1], settings
        self.bench = BoardOnBench.with_errors(arm, self.simulated, believed=self.believed, **settings)
        self.person = SimulatedPerson(self.bench, np.random.default_rng(settings["seed"] + 1), show)
        assert isinstance(self.bench, BoardOnBench)
        self.mover = self.bench.mover

    def judged(self, estimate: ArmEstimate, report: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """The report with the truth beside what was found, and hold errors before, after, and with the truth; exit code 0 if it
        holds as well as a calibration has to (``TipErrorReport.reached``), or just better where links or droop were left out."""
        arm, true = self.bench.plant.description, exact(self.bench.plant, self.believed)
        truths = {servo.joint: servo_figures(servo, was) for servo, was in zip(true[1].servos, self.believed.servos)}
        drawn = {name: link_figures(true[0], name) for name in report["links"]}
        for kind, known in (("joints", truths), ("links", drawn)):
            for name, entries in report[kind].items():
                for key in entries:
                    entries[key]["truth"] = known[name][key]
        sides = (arm, self.believed), (estimate.description, estimate.known_servos), true
        errors = tip_error_report(self.bench.plant, sides, usual_paths(arm, self.simulated))
        stages = errors.summary()
        report["hold_mm"] = {name: one["hold"] for name, one in stages.items()}
        report["tracking_mm"] = {name: one["tracking"]["median"] for name, one in stages.items()}
        report |= {"answers": self.person.asked, "simulated": self.settings}
        better = stages["after"]["hold"]["median"] < stages["before"]["hold"]["median"]
        reached = errors.reached(1e-3 * report.get("tip_uncertainty_95_mm", 0.0))
        return report, 0 if (reached if estimate.links else better) else 1
