"""The validator and the supply: motions at its very limit do not make the true arm fall, whatever their current takes of it."""

from dataclasses import replace

import numpy as np
from arm_fixtures import picker, rigid_body, servos

from picker_dynamics.errors import InfeasibleError, LimitError
from picker_dynamics.estimation.closed_loop import ClosedLoop, paths_between
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.sim.plant import Plant

SERVOS = servos()
LOWER, UPPER = np.array([[-1.0, 0.0, -1.8, -1.0, 0.2], [1.0, 1.4, 0.1, 0.8, 1.0]])
MOST_KG = 0.5


def weak(share: float, ohm: float):
    """Typical servos of which nearly all may be asked, on a poor supply: three times the typical resistance."""
    shares = tuple(replace(one, peak_share=share, hold_share=share) for one in SERVOS.servos)
    return replace(SERVOS, servos=shares, supply_ohm=ohm)


def at_the_limit(believed, seed):
    """A random motion, and the heaviest berry with which the validator of servos as they are believed lets it pass."""
    rng = np.random.default_rng(seed)

    def passed(mass, ends):
        try:
            return paths_between(ends, torque_validator(rigid_body().with_payload(mass), believed))[0]
        except (InfeasibleError, LimitError):
            return None

    while passed(0.0, ends := rng.uniform(LOWER, UPPER, (2, 5))) is None:
        pass
    light, heavy = 0.0, MOST_KG
    for _ in range(8):
        mass = 0.5 * (light + heavy)
        light, heavy = (mass, heavy) if passed(mass, ends) is not None else (light, mass)
    return light, passed(light, ends)


def worst(true, believed, seed):
    """Largest error of the true tip on the way and at rest [m]; the compensation knows everything."""
    mass, path = at_the_limit(believed, seed)
    loop = ClosedLoop(Plant(picker(), true, payload=mass, dt=1e-3), rigid_body().with_payload(mass), true)
    loop.start(path.start)
    loop.hold(0.5)
    way = loop.run(path)
    return max(way.tip_error.max(), loop.hold(1.0).tip_error.max())


def test_at_the_limit_of_the_gate_the_true_arm_does_not_fall():
    """Asked for nearly all that its motors give."""
    true = weak(0.95, 0.2)
    assert worst(true, true, 0) < 6e-3
