"""The RRP study: the requirements at two loads, what diverges, and the command as a whole."""

import json
import math

import numpy as np
from pytest import approx, fixture, mark

from picker_dynamics.commands.study import rrp
from picker_dynamics.control.laws import Reference, model_error


@fixture(scope="module")
def way():
    return rrp.path()


@mark.parametrize("law, mode, load", [("robust", "continuous", 1.0), ("robust", "sampled", 0.0), ("adaptive", "continuous", 0.0)])
def test_robust_and_adaptive_meet_the_requirements(law, mode, load, way):
    """All laws, modes and loads: the command, in make test-long."""
    case = rrp.simulate(law, load, mode, way)
    np.testing.assert_allclose(case.tool[0], way.begin + (0.0, 0.0, 0.01), atol=1e-12)
    assert case.error[0] == approx(1.0 / way.length, rel=1e-9)
    assert case.worst_from(1.5) <= 0.15
    assert case.error_at(3.0) <= (0.06 if (law, mode) == ("robust", "sampled") else 0.02)
    # No chattering: once the start is forgotten the efforts move as those of the ideal motion do.
    ideal_variation = rrp.total_variation(*rrp.planned_efforts(way, load), 1.5)
    assert (rrp.total_variation(case.run.t, case.run.tau, 1.5) <= 1.05 * ideal_variation).all()
    assert (np.abs(case.run.tau).max(axis=0) < (20.0, 250.0, 120.0)).all()
    if law == "robust":  # its theory: the model errs by less than rho, here by less than half of it
        robust, run = rrp.law(law), case.run
        u = robust.acceleration(run.q, run.v, Reference(*way.sample(run.t)), run.state)
        eta = model_error(rrp.arm(load), robust.model, run.q, run.v, u)
        assert (np.abs(eta).max(axis=0) < 0.5 * np.array(rrp.RHO)).all()
    else:
        assert case.run.state[-1, 0] == approx(load, abs=0.02) and case.run.state.min() > -0.06


def test_feed_forward_alone_diverges(way):
    cases = rrp.open_loop()
    assert cases[0.5, "on the path"].error_at(2.0) < 1e-4
    wrong = cases[1.0, "on the path"]
    assert wrong.passes(0.5) < 0.2 and wrong.passes(100.0) < 1.5 and wrong.error_at(2.0) > 300.0
    tiny, small = cases[0.5, "1 um too high"], cases[0.5, "1 cm too high"]
    assert small.error_at(3.0) > 500.0 and tiny.passes(100.0) is None
    assert small.error[-1] / small.error[0] == approx(tiny.error[-1] / tiny.error[0], rel=0.1)


@mark.parametrize("q", [rrp.Q_BEGIN, rrp.Q_END])
def test_the_arm_is_unstable_in_open_loop(q):
    """Poles by differences of gravity: M^-1 dg/dq has a negative eigenvalue -pole²."""
    model, h = rrp.arm(0.5), 1e-6
    stiffness = np.stack([(model.gravity(q + h * e) - model.gravity(q - h * e)) / (2 * h) for e in np.eye(3)], axis=-1)
    lowest = np.linalg.eigvals(np.linalg.solve(model.mass_matrix(q), stiffness)).real.min()
    assert rrp.unstable_pole(0.5, q) == approx(math.sqrt(-lowest), rel=1e-6) and lowest < -4.0


FIGURES = {f"{name}.png" for name in "tool_error tool_error_sampled profiles feed_forward".split()}


@mark.long
def test_the_command_ends_in_tables_figures_and_a_summary(tmp_path, run_picker, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, shown, _ = run_picker("study", "rrp", "--out", str(tmp_path / "study"))
    assert code == 0 and "every requirement is met" in shown and "NOT" not in shown and "DIVERGES" in shown
    files = {path.name: path for path in (tmp_path / "study").iterdir()}
    assert set(files) == FIGURES | {"summary.json"}
    assert all(files[name].read_bytes().startswith(b"\x89PNG") and files[name].stat().st_size > 20_000 for name in FIGURES)
    summary = json.loads(files["summary.json"].read_text(encoding="utf-8"))
    assert summary["passed"] and all(title.partition("[")[0] in shown for title in summary["tables"])
    asked = summary["tables"]["requirements, worst of all loads"]
    assert len(asked["met"]) == 14 and all(asked["met"].values())
    late = summary["tables"]["worst error from 1.5 s on [%], 1 cm too high at first, continuous"]["1 kg"]
    assert [late["robust"], late["adaptive"]] == approx([0.003809, 0.0004322], rel=1e-3)
