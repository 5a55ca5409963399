"""Model errors of the simulated arm against its URDF and servo map, drawn from a seed.

The controller is tuned on the nominal numbers; a real arm has others.  With ``share`` e, every
number below is multiplied by its own factor, drawn uniformly from [1 - e, 1 + e]:

    mass and inertia tensor of every link (two factors; scaling a tensor keeps it physically valid),
    rotor inertia, stiffness K, deadband, damping D of every servo,

and the supply's source likewise: its resistance, and a third as far its voltage.  Of servos whose gears have friction,

    x from LOAD_FRICTION, whatever e, if there is one; factors for tau_c and the free play,

while every joint of others gets dry friction drawn uniformly from [0, e] * COULOMB_SHARE * tau_stall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.files.fields import whole
from picker_dynamics.robot.description import ArmDescription

SEED_MAX = 2**31 - 1

COULOMB_SHARE = 0.2
"""Dry friction added at most, as a share of stall torque, at an error of 100 %: 0.03 of stall at 15 %."""

LOAD_FRICTION = (0.2, 0.5)
"""Friction of gears as a share of the motor's torque: what recordings of small servos show."""

COULOMB_TIMES = 10.0 / 3.0
"""How many times e the friction of gears without load is off: 1 to 3 % of stall around 2 % at 15 %, as recordings show."""

SOURCE_SHARE = 1.0 / 3.0
"""Of e by which the voltage of a source is off: 5 % at 15 %."""


@dataclass(frozen=True)
class PlantError:
    """Factors on the nominal numbers (1 = exact) and added dry friction.

    Attributes:
        mass, inertia: factor per link name.
        armature, stiffness, deadband, damping: (n,) factors per joint.
        coulomb: (n,) dry friction added to the URDF's [N·m].
        load_friction: (n,) x of the gears; None: as it is believed.
        gear_coulomb, play: (n,) factors per joint.
        resistance, source: factors of the supply's resistance, and of its voltage without load.
    """

    mass: dict[str, float]
    inertia: dict[str, float]
    armature: np.ndarray
    stiffness: np.ndarray
    deadband: np.ndarray
    damping: np.ndarray
    coulomb: np.ndarray
    load_friction: np.ndarray | None = None
    gear_coulomb: np.ndarray | float = 1.0
    play: np.ndarray | float = 1.0
    resistance: float = 1.0
    source: float = 1.0


def draw(
    description: ArmDescription,
    stall_torque: np.ndarray,
    share: float = 0.0,
    seed: int = 0,
    *,
    geared: bool = False,
    fed: bool = False,
) -> PlantError:
    """Draw the errors of one simulated arm.

    Args:
        description: the arm; its links with mass and its movable joints each get their own factors.
        stall_torque: (n,) [N·m], the scale of the added friction.
        share: bound e of the relative errors, 0 <= e < 1; 0 gives the exact arm.
        seed: 0 to ``SEED_MAX``.
        geared: the servos' gears have friction, which is drawn instead of an added one.
        fed: the servos have a supply, which is drawn too.

    Raises:
        InputError: for a share outside [0, 1), or another seed.
    """
    if not 0.0 <= share < 1.0:
        raise InputError(f"plant error is {share}, must be at least 0 and below 1", "plant_error", share, 1.0)
    rng = np.random.default_rng(whole(seed, "seed", 0, SEED_MAX))
    links = [name for name, link in description.links.items() if link.mass > 0.0]
    n = description.n

    def factors(count: int) -> np.ndarray:
        values = 1.0 + share * rng.uniform(-1.0, 1.0, count)
        values.setflags(write=False)
        return values

    mass, inertia = factors(len(links)), factors(len(links))
    armature, stiffness, deadband, damping = factors(n), factors(n), factors(n), factors(n)
    coulomb = share * COULOMB_SHARE * rng.uniform(0.0, 1.0, n) * stall_torque
    coulomb.setflags(write=False)
    gears, supply = dict[str, Any](), dict[str, Any]()
    if geared and share > 0.0:
        coulomb = np.zeros(n)
        gears = {"load_friction": rng.uniform(*LOAD_FRICTION, n), "gear_coulomb": factors(n), "play": factors(n)}
        gears["gear_coulomb"] = np.maximum(0.0, 1.0 + COULOMB_TIMES * (gears["gear_coulomb"] - 1.0))
    if fed and share > 0.0:
        resistance, source = factors(2)
        supply = {"resistance": float(resistance), "source": float(1.0 + SOURCE_SHARE * (source - 1.0))}
    return PlantError(
        dict(zip(links, mass.tolist())),
        dict(zip(links, inertia.tolist())),
        armature,
        stiffness,
        deadband,
        damping,
        coulomb,
        **gears,
        **supply,
    )
