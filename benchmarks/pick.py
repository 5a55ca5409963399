"""Picks: random berries among obstacles, ten of thirty of which cannot be picked: ``python -m benchmarks.pick``.

The picker with typical servos and compensation ``full``, simulated in the process, collision on.  A berry that can be picked
hangs free, within reach and light enough; it counts where the true tip is within 5 mm of it as the jaws have closed, and the arm
comes to the end of all its legs.  Then it goes on a tray.  The others are too far, too heavy to be lifted out, in the table, in
a crate, or below a shelf that is in the way out: they count where they are refused while the true arm stands as it stood.
"""

from __future__ import annotations

import json
import time

import numpy as np

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.scene import scene_shape
from picker_dynamics.scripting.arm import Arm
from picker_dynamics.scripting.equipment import equipment
from picker_dynamics.scripting.steps import Payload
from picker_dynamics.session.local import simulate

SEED, PICKED, IMPOSSIBLE = 1, 20, 10
NEAR_M, STILL_RAD = 5e-3, 2e-3
REACH_M, AZIMUTH, HEIGHT_M = (0.17, 0.26), (-0.35, 1.2), (0.10, 0.20)
"""Where berries hang that can be picked: distance from the base axis, azimuth [rad], and height."""

MASS_KG, HEAVY_KG = (0.010, 0.025), (0.4, 2.0)
TRAY = (0.12, -0.20, 0.12)
UPRIGHT = np.eye(3)
CRATE, SHELF = (0.05, 0.30, 0.05), (0.19, -0.17, 0.32)
SCENE = {
    "crate": scene_shape("crate", "box", [0.10, 0.08, 0.10], CRATE, UPRIGHT, "scene"),
    "shelf": scene_shape("shelf", "box", [0.10, 0.10, 0.01], SHELF, UPRIGHT, "scene"),
}


def berries(rng: np.random.Generator, count: int):
    """Places [m] and masses [kg] of berries that can be picked."""
    for _ in range(count):
        r, azimuth, z = (rng.uniform(*bounds) for bounds in (REACH_M, AZIMUTH, HEIGHT_M))
        yield (r * np.cos(azimuth), r * np.sin(azimuth), z), rng.uniform(*MASS_KG), {}


def impossible(rng: np.random.Generator, count: int):
    """What cannot be picked: why, and arguments of ``Arm.pick``."""
    for index in range(count):
        (place, mass, _), kind = next(berries(rng, 1)), index % 5
        x, y, z = place
        away = rng.uniform(1.8, 3.0) * 0.26 / np.hypot(x, y)
        yield (
            ("too far", (away * x, away * y, z), mass, {}),
            ("too heavy", place, rng.uniform(*HEAVY_KG), {}),
            ("in the table", (x, y, -rng.uniform(0.005, 0.05)), mass, {}),
            ("in the crate", tuple(np.add(CRATE, rng.uniform(-0.03, 0.03, 3))), mass, {}),
            ("below the shelf", tuple(np.subtract(SHELF, (0.0, 0.0, rng.uniform(0.10, 0.12)))), mass, {"lift": 0.09}),
        )[kind]


def run(picked: int = PICKED, refused: int = IMPOSSIBLE, tell=lambda _text: None) -> dict:
    """Figures; JSON-able."""
    started, rng = time.perf_counter(), np.random.default_rng(SEED)
    known = equipment(overlay="typical")
    session = simulate(known.known, scene="")
    session.arm.surroundings.add(SCENE)
    wanted, others = list(berries(rng, picked)), list(impossible(rng, refused))
    off_mm, missed, planning_ms, touched, why = [], [], [], [], {}
    with Arm(known, session) as arm:
        for number, (place, mass, how) in enumerate(wanted, 1):
            closed: list[float] = []

            def tell_leg(leg, _share, place=place, closed=closed) -> None:
                if isinstance(leg.step, Payload) and leg.step.mass and not closed:
                    closed.append(float(np.linalg.norm(session.plant.tip - place)))

            try:
                begin_s = time.thread_time()
                arm.pick(place, mass=mass, check=True, **how)
                planning_ms.append(1e3 * (time.thread_time() - begin_s))
                arm.pick(place, mass=mass, progress=tell_leg, **how)
                off_mm.append(1e3 * closed[0])
            except PickerError as error:
                missed.append(f"{np.round(place, 3).tolist()}: {error}")
                continue
            arm.place(TRAY)
            tell(f"  berry {number} of {picked}: {off_mm[-1]:.2f} mm")
        for kind, place, mass, how in others:
            before, held = arm.q, arm.held
            try:
                arm.pick(place, mass=mass, **how)
                touched.append(f"{kind}: {np.round(place, 3).tolist()}")
                arm.home()
            except PickerError as error:
                why[kind] = str(error)
                moved = np.abs(arm.q - before).max() > STILL_RAD or np.abs(arm.held - held).max() > 0.0
                touched += [f"{kind}: refused, and moved"] if moved else []
    near = [one for one in off_mm if one <= 1e3 * NEAR_M]
    return {
        "berries": picked,
        "picked_within_5_mm": len(near),
        "not_picked_within_5_mm": picked - len(near),
        "off_mm": {"median": round(float(np.median(off_mm)), 2), "max": round(max(off_mm), 2)} if off_mm else None,
        "missed": missed,
        "impossible": refused,
        "refused_before_anything_moved": refused - len(touched),
        "impossible_not_refused": len(touched),
        "touched": touched,
        "refusals": why,
        "planning_ms": {"median": round(float(np.median(planning_ms)), 1), "max": round(max(planning_ms), 1)}
        if planning_ms
        else None,
        "seconds": round(time.perf_counter() - started, 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(tell=print), indent=2))
