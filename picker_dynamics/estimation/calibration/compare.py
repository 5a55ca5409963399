"""Comparison of two sets of numbers for one arm, before and after a calibration: which differ, and how far the tip is off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from picker_dynamics.errors import ConfigurationError, JointNamesError, refuse_if
from picker_dynamics.files.formats import read_json
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.plant import Plant

from .arm_estimate import given
from .evaluate import TipErrorReport, exact, tip_error_report, usual_paths
from .servo_figures import horn_slope
from .simulated import SimulatedBench
from .write_back import OVERLAY_NAME, URDF_NAME

SHIPPED = "shipped"
"""Names the picker's own URDF and servo map, where a folder or file is asked for."""

SAME = 1e-6
"""Numbers that differ by less than this share are the same: the rounding of a file."""

PLACES = ("direction", "zero_deg", "rest_rad", "home_rad", "lower_rad", "upper_rad", "centre_x_mm", "centre_y_mm", "centre_z_mm")
"""Figures whose 0 is anywhere: a change of them is no share."""

RULER_SD_MM, RULER_MAX_MM, PAIRS_MIN = 0.5, 300.0, 3


@dataclass(frozen=True)
class Numbers:
    """Numbers believed of an arm; ``name``: their source; ``tip_mm``: their stated uncertainty at the tip (95 %), if any."""

    name: str
    description: ArmDescription
    servos: ServoMap
    tip_mm: float | None = None


@dataclass(frozen=True)
class Difference:
    """A number that differs: ``where`` is a joint or link, ``figure`` names it with its unit."""

    where: str
    figure: str
    before: float
    after: float

    @property
    def percent(self) -> float | None:
        """Change as a share of before [%]; None from 0, and for angles and places, whose 0 is anywhere."""
        if self.before == 0.0 or self.figure in PLACES:
            return None
        return 100.0 * (self.after / self.before - 1.0)


def load(name: str, servos: str = "") -> Numbers:
    """Read one side of a comparison.

    Args:
        name: a folder with ``arm.urdf`` and ``servos.calibrated.yaml``; ``URDF`` or ``URDF,OVERLAY``; or ``shipped``.
        servos: servo map under the overlay, default config/servos.yaml.

    Raises:
        ConfigurationError: a file that is missing, or a servo map that is wrong.
        DescriptionError: a URDF that is wrong.
    """
    if name == SHIPPED:
        return Numbers(name, *given(servos=servos))
    folder = Path(name)
    urdf, comma, overlay = (str(folder / URDF_NAME), ",", str(folder / OVERLAY_NAME)) if folder.is_dir() else name.partition(",")
    for path in filter(None, (urdf, overlay)):
        if not Path(path).is_file():
            why = f"no such file: {path}; give a folder that picker calibrate wrote, URDF[,OVERLAY], or {SHIPPED}"
            raise ConfigurationError(why, value=path)
    return Numbers(name, *given(urdf, servos, overlay), stated_tip_mm(folder / "report.json"))


def differences(before: Numbers, after: Numbers) -> list[Difference]:
    """The numbers that differ, joint by joint, then link by link.

    Raises:
        JointNamesError: arms with other joints or links.
    """
    require_same(before, after)
    old, new = _figures(before), _figures(after)
    return [
        Difference(*key, value, new[key])
        for key, value in old.items()
        if abs(new[key] - value) > SAME * max(abs(value), abs(new[key]))
    ]


def _figures(one: Numbers) -> dict[tuple[str, str], float]:
    """Every number, by joint or link and its name with its unit."""
    found: dict[tuple[str, str], float] = {}
    for joint, servo in zip(one.description.movable, one.servos.servos):
        figures = {
            "direction": servo.direction,
            "zero_deg": math.degrees(servo.zero),
            "deg_per_ms": 1e3 * math.degrees(horn_slope(servo)),
            "stiffness_nm_rad": servo.stiffness,
            "deadband_us": servo.deadband_us,
            "play_deg": math.degrees(servo.play),
            "load_friction": servo.load_friction,
            "coulomb_nm": servo.coulomb,
            "stall_torque_nm": servo.stall_torque,
            "no_load_speed_rad_s": servo.no_load_speed,
            "armature_kg_m2": servo.armature,
            "rest_rad": servo.rest,
            "home_rad": servo.home,
            "lower_rad": joint.lower,
            "upper_rad": joint.upper,
            "damping_nms_rad": joint.damping,
            "friction_nm": joint.friction,
        }
        found |= {(joint.name, key): float(value) for key, value in figures.items()}
    for name, link in one.description.links.items():
        found[name, "mass_kg"] = link.mass
        for i, axis in enumerate("xyz"):
            found[name, f"centre_{axis}_mm"] = 1e3 * float(link.com[i])
            found[name, f"i{axis}{axis}_kg_m2"] = float(link.inertia[i, i])
    return found | {("board", "oscillator_hz"): one.servos.oscillator_hz}


def require_same(before: Numbers, after: Numbers) -> None:
    """Raise a JointNamesError where two sets of numbers are not of the same joints and links."""
    for what, one, other in (
        ("joints", before.description.joint_names, after.description.joint_names),
        ("links", tuple(before.description.links), tuple(after.description.links)),
    ):
        if set(one) != set(other) or what == "joints" and one != other:
            why = f"{before.name} has the {what} {', '.join(one)}, {after.name} has {', '.join(other)}: not the same arm"
            raise JointNamesError(why)


def stated_tip_mm(report: Path) -> float | None:
    """Tip uncertainty that a calibration's report states [mm]; None without one."""
    if not report.is_file():
        return None
    found = read_json(report, "report", ConfigurationError)
    value = found.get("tip_uncertainty_95_mm") if isinstance(found, dict) else None
    return float(value) if isinstance(value, (int, float)) else None


# -- what they are worth: on a simulated arm, on a ruler -----------------------------------------------------------------


def hidden_truth(plant_error: float, seed: int, horn_error: float) -> tuple[Plant, str]:
    """The simulated picker with hidden errors (``SimulatedBench.with_errors``), and what to call it."""
    bench = SimulatedBench.with_errors(*given(simulated=True), plant_error=plant_error, seed=seed, horn_error=horn_error)
    horns = f", horn error {horn_error:g}" if horn_error else ""
    return bench.plant, f"the simulated arm (plant error {plant_error:g}, seed {seed}{horns})"


def tip_errors(before: Numbers, after: Numbers, truth: Plant, *, poses: int, floor: bool = False) -> TipErrorReport:
    """Move the true arm through random poses, controlled with either set.

    Args:
        truth: the arm, hidden errors included.
        poses: how many.
        floor: also with the true arm's own numbers, as far as a URDF and a servo map can say them; dry friction is not in.
    """
    for one in (before, after):
        if truth.joint_names != one.description.joint_names:
            raise JointNamesError(f"the true arm has the joints {', '.join(truth.joint_names)}, not those of {one.name}")
    sides = [(one.description, one.servos) for one in (before, after)] + ([exact(truth, truth.servo_map)] if floor else [])
    return tip_error_report(truth, sides, usual_paths(truth.description, truth.servo_map, poses))


@dataclass(frozen=True)
class RulerReport:
    """Ruler readings at the same poses with either set of numbers: distances of the tip from its target [mm].

    ``nearer``: mean of how much nearer the tip is afterwards [mm], with a 95 % interval of Student's t.
    """

    before_mm: tuple[float, ...]
    after_mm: tuple[float, ...]
    nearer_mm: float
    interval_mm: tuple[float, float]

    @property
    def no_worse(self) -> bool:
        """Whether the readings do not say that the tip is farther off than before."""
        return self.interval_mm[1] >= 0.0


def ruler_report(pairs: Sequence[tuple[float, float]]) -> RulerReport:
    """Statistics of pairs of readings (before, after) [mm], one pair a pose.

    Raises:
        InputError: too few pairs, or a reading that cannot be.
    """
    some, count = f"{len(pairs)} pairs of ruler readings, must be at least {PAIRS_MIN}", len(pairs)
    refuse_if(count < PAIRS_MIN, some, "ruler", count, PAIRS_MIN)
    for number, pair in enumerate(pairs, start=1):
        for side, value in zip(("before", "after"), pair):
            why = f"ruler, pose {number} {side}: {value:g} mm, must be 0 to {RULER_MAX_MM:g}"
            refuse_if(not 0.0 <= value <= RULER_MAX_MM, why, "ruler", value, RULER_MAX_MM)
    from scipy import stats

    before, after = np.array(pairs, dtype=float).T
    gain = before - after
    sd = max(float(gain.std(ddof=1)), math.sqrt(2.0) * RULER_SD_MM) / math.sqrt(count)
    half = float(stats.t.ppf(0.975, count - 1)) * sd
    mean = float(gain.mean())
    return RulerReport(tuple(before.tolist()), tuple(after.tolist()), mean, (mean - half, mean + half))
