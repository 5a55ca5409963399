"""``picker calibrate --simulated``: an arm whose numbers are hidden, who answers for it, and what the session was worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.servo_map import ServoMap

from .arm_estimate import ArmEstimate, given
from .evaluate import exact, tip_error_report, usual_paths
from .mover import Mover
from .simulated import SimulatedBench
from .simulated_person import PlantOutputs, PlantWorld, SimulatedPerson
from .steps.result import calibrated, table

OSCILLATOR_SHARE = 0.03
"""Bound of the error of the hidden oscillator."""


@dataclass
class Rehearsal:
    """The simulated arm, person and board of one session."""

    bench: SimulatedBench
    believed: ServoMap
    simulated: ServoMap
    person: SimulatedPerson
    mover: Mover
    console: object
    settings: dict

    @classmethod
    def of(cls, options, console) -> Rehearsal:
        """As the command's options have it."""
        files = options.urdf, options.servos, options.servo_overlay
        (arm, believed), (_, simulated) = given(*files), given(*files, simulated=True)
        bench = SimulatedBench.with_errors(
            arm, simulated, plant_error=options.plant_error, seed=options.seed, horn_error=options.horn_error
        )
        bench.plant.reset(believed.rest, support=True)
        outputs = PlantOutputs(bench.plant, believed)
        rng = np.random.default_rng(options.seed + 1)
        oscillator = believed.oscillator_hz * (1.0 + rng.uniform(-OSCILLATOR_SHARE, OSCILLATOR_SHARE))

        def show(text: str, style: str) -> None:
            if not (options.quiet and style in ("hint", "")):
                console.print(
                    text,
                    style={"title": "bold", "hint": "dim", "warning": "yellow", "good": "green"}.get(style, ""),
                    markup=False,
                    soft_wrap=True,
                )

        return cls(
            bench,
            believed,
            simulated,
            SimulatedPerson(PlantWorld(bench, outputs), rng, oscillator, show),
            Mover(outputs),
            console,
            {"plant_error": options.plant_error, "seed": options.seed, "horn_error": options.horn_error},
        )

    def judged(self, estimate: ArmEstimate, report: dict) -> tuple[dict, int]:
        """The report with the truth beside what was found, and hold errors before, after, and with the truth; exit code 0 if it
        holds as well as a calibration has to (``TipErrorReport.reached``), or just better where droop was left out."""
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
                "centre_m": float(link.com[0]),
                "inertia_kg_m2": float(link.inertia[1, 1] * plant.error.inertia[name]),
            }
            for key in entries:
                entries[key]["truth"] = truth[key]
        with self.console.status("moving the arm as it was believed to be, and as it was found to be"):
            found = calibrated(estimate)
            sides = (arm, self.believed), (found.description, found.servos), exact(plant, self.believed)
            errors = tip_error_report(plant, sides, usual_paths(arm, self.simulated))
        stages = errors.summary()
        report["hold_mm"] = {name: one["hold"] for name, one in stages.items()}
        report["tracking_mm"] = {name: one["tracking"]["median"] for name, one in stages.items()}
        report |= {"answers": self.person.asked, "simulated": self.settings}
        better = stages["after"]["hold"]["median"] < stages["before"]["hold"]["median"]
        return report, 0 if (better if estimate.fit is None else errors.reached) else 1

    def _true_servo(self, column: int) -> dict[str, float]:
        """What was hidden of a servo."""
        plant, was = self.bench.plant, self.believed.servos[column]
        true = plant.servo_map.servos[column]
        return {
            "zero_rad": -true.direction * true.zero,
            "scale": true.horn_angles[-1] / was.horn_angles[-1] - 1.0,
            "stiffness_nm_rad": float(plant.servo.stiffness[column]),
            "deadband_rad": float(plant.servo.deadband[column]),
        }

    def show(self, report: dict) -> None:
        """The figures beside the truth, and what the tip does."""
        self.console.print("\n".join(table(report)), markup=False, soft_wrap=True)
        hold = report["hold_mm"]
        self.console.print(
            "tip at rest, median (worst): "
            + ", ".join(f"{name} {hold[name]['median']:.1f} ({hold[name]['max']:.1f}) mm" for name in ("before", "after"))
            + f"; its own true numbers would give {hold['floor']['median']:.1f} mm",
            soft_wrap=True,
        )
        if "tip_uncertainty_95_mm" in report:
            self.console.print(
                f"the tip was said to be within {report['tip_uncertainty_95_mm']:.1f} mm (95 %); "
                f"{report['answers']} questions were answered, {report['visits']} visits of poses, misfit "
                f"{report['misfit']:.2f}",
                soft_wrap=True,
            )
