"""What tests and benchmarks ask of a simulated arm besides: its energy, and heavier links."""

from dataclasses import replace

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.plant_error import PlantError, draw


def scaled_masses(description: ArmDescription, factor: float) -> PlantError:
    """Errors of an arm whose links all weigh ``factor`` times what the URDF says, inertias likewise; the rest is exact."""
    exact = draw(description, np.zeros(description.n))
    factors = dict.fromkeys(exact.mass, factor)
    return replace(exact, share=abs(factor - 1.0), mass=factors, inertia=factors)


def energy(plant: Plant) -> tuple[float, float]:
    """Kinetic energy 1/2 v M v, and potential energy by the height of the tool's load and links [J]."""
    q, v = plant.q, plant.v
    heights = plant._at(q, v).xipos @ plant._m.opt.gravity
    return float(0.5 * v @ plant.mass_matrix(q) @ v), float(-plant._m.body_mass @ heights)
