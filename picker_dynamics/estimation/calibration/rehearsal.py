"""Rehearsal of a calibration (``picker calibrate --simulated``): simulated person, simulated arm, and the truth.

The session is the same as with a board and a terminal.  Questions are answered from the arm's truth, with the noise of real
instruments; time passes as fast as it can.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from picker_dynamics.board.link import Link
from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.sim.board_in_memory import BoardInMemory

from .arm_estimate import ArmEstimate, given
from .board_bench import BoardOutputs
from .evaluate import exact, tip_error_report, usual_paths
from .instruments import INCLINOMETER_SD, RULER_SD, lay, sensor_on
from .mover import Mover
from .person import Question
from .procedure import ANGLE_SD
from .simulated import SimulatedBench

PATIENCE = 50
"""How often the same question is answered: a session that goes round in circles ends."""

TOUCH_M = 1.5e-3
"""Beyond the URDF's limits where a sliding joint touches something [m]."""

OSCILLATOR_SHARE = 0.03
"""Bound of the error of the hidden oscillator."""


class SimulatedPerson:
    """Answers as a person at the bench would.

    Args:
        world: the arm, or what is seen of it and done to it in the same way.
        rng: of the readings' noise.
        oscillator_hz: true frequency of the board's.
        show: where questions and answers are told.
        margin: beyond the URDF's limits where joints touch something [rad].
    """

    def __init__(
        self,
        world: SimulatedBench,
        rng: np.random.Generator,
        oscillator_hz: float = 25e6,
        show: Callable[[str, str], None] = lambda _text, _style: None,
        margin: float = 0.04,
    ):
        self.world, self.rng, self.oscillator_hz, self._show, self.margin = world, rng, oscillator_hz, show, margin
        self._links: dict[tuple[str, str], list] = {}
        self._jogged: tuple = ()
        self.asked = 0
        self._times: Counter[tuple[str, str]] = Counter()

    def tell(self, text: str, style: str = "") -> None:
        """Show what the person is told."""
        self._show(text, style)

    def busy(self, text: str) -> AbstractContextManager:
        """Waiting is nothing to a simulated person."""
        return nullcontext()

    def ask(self, question: Question) -> str:
        """Answer of the simulated person, which is shown."""
        self.asked += 1
        self._times[question.step, question.key] += 1
        refuse_if(
            self._times[question.step, question.key] > PATIENCE,
            f"{question.step}: asked {PATIENCE} times, and no answer would do: {question.text}",
            question.step,
            PATIENCE,
        )
        answer = self.answer(question)
        self._show(f"{question.text}  {answer}", "hint")
        return answer

    def answer(self, question: Question) -> str:
        """Answer to a question, as the person types it."""
        step, key, about = question.step, question.key, question.about
        words = dict(question.words)
        if key == "misfit":
            return "leave"
        if step == "trim" and "yes" not in words:
            return self._trim(key, about)
        if key in ("hang", "take"):
            self.world.hang(*about)
            return "yes"
        if "yes" in words:
            return "yes"
        if step == "limits" and key.endswith((".low", ".high")):
            return self._jog(*about)
        if step == "rest":
            return "done"
        if step == "map" and "" not in words:
            value, slides = self._standing(about[0])
            return f"{1e3 * value if slides else math.degrees(value):.2f}"
        if step == "links" and "" not in words:
            return self._link(*about)
        if step == "droop" and key.startswith("weight"):
            return f"{1e3 * about[0]:.0f} g"
        if step == "droop" and "repeat" in words:
            sensor = about[0]
            value = float(sensor.of(link_poses(self.world.description, self.world.q()))) + self.rng.normal(0.0, sensor.sd)
            return f"{math.degrees(value):.2f}" if sensor.kind == "elevation" else f"{1e3 * value:.1f} mm"
        return "" if "" in words else next(iter(words))

    # -----------------------------------------------------------------------------------------------------------------

    def _trim(self, key: str, about: tuple) -> str:
        if key.endswith("pulse"):
            commanded, flashed = about
            return f"{commanded * flashed / self.oscillator_hz + self.rng.normal(0.0, 0.5):.1f}"
        return "pulse"

    def _standing(self, name: str) -> tuple[float, bool]:
        """Position of a joint from its zero, or elevation of a link [rad, of a sliding joint m], and whether it slides."""
        arm, q = self.world.description, self.world.q()
        if name in arm.joint_names:
            slides = arm.joint(name).type == "prismatic"
            return float(q[arm.joint_names.index(name)]) + self.rng.normal(0.0, RULER_SD if slides else ANGLE_SD), slides
        return float(sensor_on(arm, name).of(link_poses(arm, q))) + self.rng.normal(0.0, INCLINOMETER_SD), False

    def _jog(self, name: str, sign: float) -> str:
        """Quickly at first, and stop where it would touch; where the arm refuses to go further, the URDF's limit stays."""
        arm = self.world.description
        column = arm.joint_names.index(name)
        here, before = float(self.world.q()[column]), self._jogged
        end = arm.upper[column] if sign > 0.0 else arm.lower[column]
        slides = arm.joint(name).type == "prismatic"
        left = 1e3 * (sign * (end - here) + TOUCH_M) if slides else math.degrees(sign * (end - here) + self.margin)
        if left < (0.5 if slides else 2.0):
            self._jogged = ()
            return "stop"
        if before[:2] == (name, sign) and abs(here - before[2]) < (1e-4 if slides else math.radians(0.5)):
            self._jogged = ()
            return "keep"
        self._jogged = name, sign, here
        return f"{min(30.0, 0.9 * left):.1f}"

    def _link(self, name: str, holds: Sequence[str], what: str) -> str:
        left = self._links.setdefault((name, what), [])
        if not left:  # at first, and where more readings are asked for
            one = self.world.link(name)
            left += {
                "mass": [f"{1e3 * kg:.0f} g" for kg in one.masses_kg],
                "balance": [f"{1e3 * m:.1f} mm" for m in one.balances_m] or ["0"],
                "swings": [f"{one.swings} swings in {seconds:.2f} s" for seconds in one.swing_times_s],
            }[what]
        return left.pop(0)


class BoardOnBench(SimulatedBench):
    """An arm behind a board in memory that was flashed for ``servos``, and is sent the protocol's bytes as a real one is."""

    def __post_init__(self):
        self.board = board = BoardInMemory(self.plant, self.servos)
        link = Link("memory", joint_names=self.servos.joint_names, clock=board, open_port=board.open)
        board.on_arrival = link.poll
        self.outputs = BoardOutputs(link, self.servos, board)
        self.outputs.take()

    def wait(self, seconds: float) -> None:
        """Let the arm rest."""
        self.outputs.wait(seconds)


class Rehearsal:
    """The simulated arm, person and board of one session.

    Args:
        urdf, servos, overlay: files, "": the picker's.
        settings: ``plant_error``, ``horn_error`` and ``seed`` of the hidden errors.
        show: where questions and answers are told.
    """

    def __init__(self, urdf: str, servos: str, overlay: str, settings: dict, show: Callable[[str, str], None]):
        arm, self.believed = given(urdf, servos, overlay)
        self.simulated, self.settings = given(urdf, servos, overlay, simulated=True)[1], settings
        self.bench = BoardOnBench.with_errors(arm, self.simulated, believed=self.believed, **settings)
        rng = np.random.default_rng(settings["seed"] + 1)
        oscillator = self.believed.oscillator_hz * (1.0 + rng.uniform(-OSCILLATOR_SHARE, OSCILLATOR_SHARE))
        self.person, self.mover = SimulatedPerson(self.bench, rng, oscillator, show), Mover(self.bench.outputs)

    def judged(self, estimate: ArmEstimate, report: dict) -> tuple[dict, int]:
        """The report with the truth beside what was found, and hold errors before, after, and with the truth; exit code 0 if it
        holds as well as a calibration has to (``TipErrorReport.reached``), or just better where links or droop were left out."""
        plant, arm = self.bench.plant, self.bench.plant.description
        for name, entries in report["joints"].items():
            column = arm.joint_names.index(name)
            for key, value in self._true_servo(column).items():
                if key in entries:
                    entries[key]["truth"] = value
        for name, entries in report["links"].items():
            link = arm.links[name]
            truth = {
                "mass_kg": link.mass * plant.error.mass[name],
                "centre_m": lay(arm, name).distance(link.com),
                "inertia_kg_m2": lay(arm, name).inertia(link.inertia) * plant.error.inertia[name],
            }
            for key in entries:
                entries[key]["truth"] = truth[key]
        sides = (arm, self.believed), (estimate.description, estimate.known_servos), exact(plant, self.believed)
        errors = tip_error_report(plant, sides, usual_paths(arm, self.simulated))
        stages = errors.summary()
        report["hold_mm"] = {name: one["hold"] for name, one in stages.items()}
        report["tracking_mm"] = {name: one["tracking"]["median"] for name, one in stages.items()}
        report |= {"answers": self.person.asked, "simulated": self.settings}
        better = stages["after"]["hold"]["median"] < stages["before"]["hold"]["median"]
        reached = errors.reached(1e-3 * report.get("tip_uncertainty_95_mm", 0.0))
        whole = estimate.links or not estimate.loaded
        return report, 0 if (reached if whole else better) else 1

    def _true_servo(self, column: int) -> dict[str, float]:
        """What was hidden of a servo."""
        plant, was = self.bench.plant, self.believed.servos[column]
        true, way = plant.servo_map.servos[column], was.per_turn
        return {
            f"zero_{was.position_unit}": float(true.to_angle(0.5 * (true.pulses_us[0] + true.pulses_us[-1]))),
            "scale": true.horn_angles[-1] / was.horn_angles[-1] - 1.0,
            "stiffness_nm_rad": float(plant.servo.stiffness[column]) * way**2,
            "gap_rad": float(plant.servo.gap[column]) / way,
            "load_friction": float(plant.servo.load_friction[column]),
            "coulomb_nm": float(plant.whole_servo.coulomb[column]) * way,
        }
