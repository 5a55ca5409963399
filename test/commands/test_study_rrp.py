"""The RRP study: the requirements at two loads, what diverges, and the command as a whole."""

import json
import math

import numpy as np
from pytest import approx, fixture, mark

from picker_dynamics.commands.study import rrp


@fixture(scope="module")
def way():
    return rrp.path()


# --- requirements -----------------------------------------------------------------------------------------


@mark.parametrize("load", [0.0, 1.0])
@mark.parametrize("mode", ["continuous", "sampled"])
@mark.parametrize("law", ["robust", "adaptive"])
def test_robust_and_adaptive_meet_the_requirements(law, mode, load, way):
    case = rrp.simulate(law, load, mode, way)
    np.testing.assert_allclose(case.tool[0], way.begin + (0.0, 0.0, 0.01), atol=1e-12)
    assert case.error[0] == approx(1.0 / way.length, rel=1e-9)
    assert case.worst_from(1.5) <= 0.15
    assert case.error_at(3.0) <= (0.06 if (law, mode) == ("robust", "sampled") else 0.02)
    assert np.isfinite(case.run.tau).all()
    # No chattering: once the start is forgotten the efforts move as those of the ideal motion do.
    ideal_variation = rrp.total_variation(*rrp.planned_efforts(way, load), 1.5)
    assert (rrp.total_variation(case.run.t, case.run.tau, 1.5) <= 1.05 * ideal_variation).all()
    assert (np.abs(case.run.tau).max(axis=0) < (20.0, 250.0, 120.0)).all()
    if law == "robust":  # its theory: the model errs by less than rho, here by less than half of it
        assert (rrp.largest_model_error(case, way) < 0.5 * np.array(rrp.RHO)).all()
    if law == "adaptive":
        assert case.run.state[-1, 0] == approx(load, abs=0.02)
        assert case.run.state.min() > -0.06


def test_every_law_is_exact_with_the_exact_model_on_the_path(way):
    for law in ("feed_forward", "computed_torque", "robust", "adaptive"):
        case = rrp.simulate(law, rrp.BELIEVED_KG, "continuous", way, start_off=(0.0, 0.0, 0.0))
        assert case.error.max() < 1e-4, law


# --- feed-forward alone -----------------------------------------------------------------------------------


def test_feed_forward_alone_diverges(way):
    cases = rrp.open_loop()
    assert cases["0.5 kg, on the path"].error_at(2.0) < 1e-4
    wrong = cases["1 kg, on the path"]
    assert wrong.passes(0.5) < 0.2 and wrong.passes(100.0) < 1.5 and wrong.error_at(2.0) > 300.0
    assert cases["0.5 kg, 1 cm too high"].error_at(3.0) > 500.0
    tiny, small = cases["0.5 kg, 1 um too high"], cases["0.5 kg, 1 cm too high"]
    assert small.error[-1] / small.error[0] == approx(tiny.error[-1] / tiny.error[0], rel=0.1)
    assert tiny.passes(100.0) is None


def test_the_arm_is_unstable_in_open_loop():
    """Poles by differences of gravity: M^-1 dg/dq has a negative eigenvalue -pole²."""
    model, h = rrp.arm(0.5).full, 1e-6
    for name, q in (("begin", np.array(rrp.Q_BEGIN)), ("end", np.array(rrp.Q_END))):
        stiffness = np.stack([(model.gravity(q + h * e) - model.gravity(q - h * e)) / (2 * h) for e in np.eye(3)], axis=-1)
        lowest = np.linalg.eigvals(np.linalg.solve(model.mass_matrix(q), stiffness)).real.min()
        assert rrp.unstable_poles(0.5)[name] == approx(math.sqrt(-lowest), rel=1e-6)
        assert rrp.unstable_poles(0.5)[name] > 2.0


# --- the whole command ------------------------------------------------------------------------------------


FIGURES = {
    "tool_error.png",
    "tool_error_sampled.png",
    "efforts.png",
    "path.png",
    "load_estimate.png",
    "profiles.png",
    "feed_forward.png",
}


def strict_json(text: str) -> dict:
    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


@mark.long
def test_the_command_ends_in_tables_figures_and_a_summary(tmp_path, run_picker, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, shown, _ = run_picker("study", "rrp", "--out", str(tmp_path / "study"))
    assert code == 0 and "every requirement is met" in shown and "NOT MET" not in shown and "DIVERGES" in shown
    assert all(title in shown for title in rrp.LAWS.values())
    assert "total variation of effort, ideal = 1" in shown and "load estimate, kg off" in shown
    files = {path.name: path for path in (tmp_path / "study").iterdir()}
    assert set(files) == FIGURES | {"summary.json"}
    assert all(files[name].read_bytes().startswith(b"\x89PNG") and files[name].stat().st_size > 20_000 for name in FIGURES)
    summary = strict_json(files["summary.json"].read_text(encoding="utf-8"))
    assert summary["passed"] and all(row["met"] for row in summary["requirements"])
    assert summary["setup"]["loads_kg"] == [0.0, 0.25, 0.5, 0.75, 1.0] and summary["setup"]["believed_kg"] == 0.5
    for law, modes in summary["laws"].items():
        for mode, loads in modes.items():
            assert set(loads) == {"0", "0.25", "0.5", "0.75", "1"}, (law, mode)
    for load, case in summary["laws"]["adaptive"]["sampled"].items():
        assert case["load_estimate_kg"] == approx(float(load), abs=0.02)
        assert case["end_percent"] <= 0.02
    assert set(summary["profiles"]) == {"constant", "trapezoidal", "cubic", "quintic"}
    assert all(mode["median"] > 0.0 for law in summary["wall_s"].values() for mode in law.values())
