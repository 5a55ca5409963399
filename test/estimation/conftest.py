"""Arms that were calibrated at rest, for all tests of the room; and rehearsals, made short."""

from functools import partial

from calibration_truth import ARM, BELIEVED, COARSE_S, bench
from pytest import fixture

from benchmarks.calibration_benches import calibrate
from picker_dynamics.estimation import rehearsal
from picker_dynamics.estimation.calibration import compare, evaluate, poses
from picker_dynamics.estimation.calibration.steps import result
from picker_dynamics.sim.plant import Plant


@fixture(scope="session")
def calibrated():
    """An arm at rest with hidden numbers, and its calibration."""
    arm = bench(1)
    return arm, calibrate(ARM, BELIEVED, arm, poses.WEIGHTS, seed=1, when="today")


@fixture
def few_poses(monkeypatch):
    """Few poses are read, few motions are judged by, and arms are simulated in coarse steps."""
    monkeypatch.setattr(poses, "BARE", 3)
    monkeypatch.setattr(poses, "LOADED", 3)
    monkeypatch.setattr(poses, "CANDIDATES", 40)
    monkeypatch.setattr(evaluate, "DRAWS", 20)
    paths = evaluate.usual_paths
    for module in (evaluate, result, compare, rehearsal):
        monkeypatch.setattr(module, "usual_paths", lambda arm, servos, *_: paths(arm, servos, 2))
    for module in (rehearsal, evaluate):
        monkeypatch.setattr(module, "Plant", partial(Plant, dt=COARSE_S))
