"""Rehearsals of a calibration, made short."""

from pytest import fixture

from picker_dynamics.estimation.calibration import evaluate, poses
from picker_dynamics.estimation.calibration.steps import result


@fixture
def few_poses(monkeypatch):
    """Few poses are read, and few motions are judged by."""
    monkeypatch.setattr(poses, "BARE", 3)
    monkeypatch.setattr(poses, "LOADED", 3)
    monkeypatch.setattr(poses, "CANDIDATES", 40)
    monkeypatch.setattr(evaluate, "DRAWS", 20)
    paths = evaluate.usual_paths
    for module in (evaluate, result):
        monkeypatch.setattr(module, "usual_paths", lambda arm, servos: paths(arm, servos, 2))
