"""An arm with hidden numbers on MuJoCo: the motion chosen for it, what is found, what that predicts, what is written."""

import itertools
import json
from dataclasses import replace

import numpy as np
from arm_fixtures import picker, servos, shipped_arm
from identification_bench import ARM, TIP_SPEED, bench, found
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, mark, raises
from scipy.signal import lfilter
from small_urdfs import random_arm

from benchmarks.hidden_arms import shares
from picker_dynamics.commands import cli
from picker_dynamics.dynamics import check, rigid_body
from picker_dynamics.errors import InfeasibleError, InputError
from picker_dynamics.estimation.identification import base, excitation, filtering, identified_urdf, inertia, procedure, report
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.excitation import Search
from picker_dynamics.estimation.identification.samples import csv_text
from picker_dynamics.robot import description
from picker_dynamics.robot.model import tip_speeds
from picker_dynamics.scripting.equipment import equipment

# -- excitation ------------------------------------------------------------------------------------------------


def test_fourier_series_starts_and_ends_at_rest_and_is_its_own_derivative():
    motion = excitation.Fourier(np.zeros(3), np.random.default_rng(0).normal(size=(2, 4, 3)), 5.0, periods=2)
    q, v, a = motion.sample([0.0, 5.0, 10.0])
    assert_allclose(np.stack([v, a, q - q[0]]), 0.0, atol=1e-11)
    h, t = 1e-5, np.array([0.7, 3.1])
    q, v, a = motion.sample(t)
    before, after = motion.sample(t - h), motion.sample(t + h)
    assert_allclose((after[0] - before[0]) / (2 * h), v, atol=1e-7)
    assert_allclose((after[1] - before[1]) / (2 * h), a, atol=1e-6)


def test_the_motion_found_keeps_all_limits_and_tells_more_than_random_ones():
    one = bench()
    search, excitation = one.search, one.excitation
    search.validator.validate(excitation.motion.trajectory(one.believed.joint_names))  # the controller's own check
    q, v, a = excitation.motion.sample(excitation.motion.times(500))
    assert (q > one.believed.lower).all() and (q < one.believed.upper).all()
    assert (np.abs(v) < one.believed.velocity).all() and (np.abs(a) < search.acceleration).all()
    first, again = (search.run(shipped_arm(ARM).home, 0, drawn=30, bettered=0) for _ in range(2))
    assert excitation.condition < first.condition
    assert_array_equal(again.motion.free, first.motion.free)


def test_a_servo_arm_gets_a_motion_that_its_gate_lets_through_and_a_feeble_one_none():
    arm = picker()
    allowed = replace(equipment().validator(), further=())
    motion = Search(base.find(Columns(arm)), allowed, 10.0).run(servos(simulated=False).home, 1, drawn=10, bettered=0).motion
    assert allowed.tip_speed == 0.25
    allowed.validate(motion.trajectory(arm.joint_names))
    feeble = replace(allowed, limits=replace(allowed.limits, full=1e-3 * allowed.limits.full))
    with raises(InfeasibleError, match="no motion about the home pose"):
        Search(base.find(Columns(arm)), feeble, 10.0).run(None, 0, drawn=3, bettered=0)


def test_motion_file_comes_back(tmp_path):
    one, path = bench(), tmp_path / "motion.json"
    path.write_text(excitation.text(one.excitation.motion, one.excitation.condition, ARM, one.believed, seed=0))
    read = excitation.read(path)
    assert read.trajectory.joint_names == one.believed.joint_names and read.arm == ARM
    t = np.linspace(0.0, 10.0, 77)
    assert_allclose(read.trajectory.sample(t)[0], one.excitation.motion.sample(t)[0], atol=1e-4)
    assert len(json.loads(path.read_text())["points"]) == 201


# -- what is found ---------------------------------------------------------------------------------------------


def identified(columns: Columns, *recordings, tip_speed=TIP_SPEED, **more) -> procedure.Identified:
    return procedure.identify(columns, recordings, tip_speed=tip_speed, **more)


def error(columns: Columns, pi) -> float:
    """Of the efforts that are predicted for the other motion, against the true ones."""
    return float(np.sqrt(np.mean(shares(columns, pi, bench().other) ** 2)))


def changed(samples, tau):
    return replace(samples, tau=tau)


def test_torque_of_another_motion_is_predicted_within_two_per_cent():
    one, result = bench(), found()
    assert error(one.columns, result.bodies.pi) < 0.02 < 0.1 < error(one.columns, one.columns.believed())


def test_base_parameters_and_friction_are_those_of_the_hidden_arm():
    one, result = bench(), found()
    truth = Columns(one.truth).believed()
    off = (result.base.beta - result.base.base.X @ truth) / result.base.sd
    assert np.abs(off).max() < 4.0 and np.mean(np.abs(off) < 1.96) > 0.75  # of 15, some correlated
    assert_allclose(one.columns.drive("coulomb", result.bodies.pi), one.truth.friction, rtol=0.08)
    believed = result.base.base.X @ one.columns.believed()
    assert np.abs((believed - result.base.base.X @ truth) / result.base.sd).max() > 20.0


def exist(bodies) -> bool:
    return bool(np.linalg.eigvalsh(inertia.pseudo_inertia(bodies)).min() > 0.0)


def test_bodies_can_exist_and_what_torques_do_not_tell_stays_the_urdfs():
    result = found()
    assert exist(result.bodies.bodies)
    told = dict(zip(bench().columns.names, result.bodies.sd / np.sqrt(np.diag(result.bodies.prior_covariance))))
    assert told["mx(bar4)"] < 0.05 < 0.9 < told["my(bar4)"]  # along the plane's normal nothing moves
    figures = report.as_json(result, ["a.csv"], "2026-01-02")["links"]["bar4"]
    assert not figures["cy"]["told"] and figures["iyy"]["sd"] > 0.0
    assert 1.0 <= result.misfit < 1.05 and not result.base.open and not result.bodies.strained
    assert result.base.systematic.max() < 0.4  # noise alone


ROTORS = np.array([0.0, 0.05, 0.02])


def with_rotors():
    samples = bench().run.samples
    return changed(samples, samples.tau + ROTORS * bench().excitation.motion.sample(samples.t)[2])


def test_rotors_are_found_where_they_are_and_only_there():
    assert not found().bodies.columns.rotors
    result = identified(bench().columns, with_rotors())
    columns = result.bodies.columns
    off = (columns.drive("rotor", result.bodies.pi) - ROTORS) / columns.drive("rotor", result.bodies.sd)
    assert np.abs(off[1:]).max() < 4.0  # the first turns as its link does


def test_recordings_count_together_outliers_little_and_a_body_far_from_the_urdf_is_told():
    one = bench()
    twice = identified(one.columns, one.run.samples, one.other.samples)
    assert twice.equations > 1.8 * found().equations and twice.base.sd.sum() < found().base.sd.sum()
    spoilt = changed(one.run.samples, one.run.samples.tau.copy())
    spoilt.tau[500:540] += 4.0  # 0.16 s of a hand in the way: no spike, and not the arm
    assert error(one.columns, identified(one.columns, spoilt).bodies.pi) < 0.03
    light = np.array([1.0, 1.0, 0.05])[:, None] * inertia.of_description(one.believed)
    text = identified_urdf.with_bodies(one.believed, light, one.believed.damping, one.believed.friction)
    result = identified(Columns(description.parse(text)), one.run.samples)
    assert list(result.bodies.strained) == ["bar4"] and result.bodies.strained["bar4"] > 3.0


def part(samples, count: int):
    """The first ``count`` samples."""
    return replace(samples, t=samples.t[:count], q=samples.q[:count], tau=samples.tau[:count])


def still_but(moving: int):
    """Samples in which one joint moves alone; the torques follow."""
    one = bench()
    q, v, a = one.excitation.motion.sample(one.run.samples.t)
    for column in {0, 1, 2} - {moving}:
        q[:, column], v[:, column], a[:, column] = shipped_arm(ARM).home[column], 0.0, 0.0
    tau = rigid_body.RigidBody(one.truth).required_torque(q, v, a) + np.random.default_rng(0).normal(0.0, 0.02, q.shape)
    return replace(one.run.samples, q=q, tau=tau)


def test_a_motion_that_tells_too_little_is_refused_by_name_and_can_be_allowed():
    one = bench()
    samples = one.run.samples
    still = replace(samples, q=np.repeat(samples.q[:1], len(samples.t), axis=0))
    q = samples.q[:1500].copy()
    q[:, 1] = np.linspace(-0.5, 1.0, 1500)
    one_way = replace(part(samples, 1500), q=q)
    noise = np.random.default_rng(0).normal(0.0, [6.0, 2.0, 0.6], samples.tau.shape)
    for recordings, reason in (
        ([part(samples, 625)], "too short for a cutoff of 5 Hz"),
        ([], "no recording"),
        ([still], "no joint moves faster than 0.02 rad/s"),
        ([one_way], f"{one.believed.joint_names[1]} moves one way only"),
        ([still_but(0)], r"leaves open, .*(bar3|theta3).*picker identify excite"),
        ([changed(samples, samples.tau + noise)], r"leaves open, .* at up to 2 m/s: .* --tip-speed M_S if .* --allow-open"),
    ):
        with raises(InputError, match=reason):
            identified(one.columns, *recordings)
    allowed = identified(one.columns, still_but(2), allow_open=True)
    assert allowed.base.open and exist(allowed.bodies.bodies)
    fastest = tip_speeds(one.columns.model, samples.q, one.excitation.motion.sample(samples.t)[1]).max()
    assert identified(one.columns, samples, tip_speed=None).tip_speed == approx(fastest, rel=0.05)  # the recording's own


# -- intervals between recordings, and rest --------------------------------------------------------------------


def another_day(seed: int):
    """The bench's motion with the friction of another day and an error that goes on for a while, as elastic joints make."""
    one, rng = bench(), np.random.default_rng(seed)
    v = one.excitation.motion.sample(one.run.samples.t)[1]
    viscous, coulomb = 0.05 * rng.standard_normal((2, 3)) * [one.truth.damping, one.truth.friction]
    keeps = np.exp(-np.diff(one.run.samples.t)[0] / 0.3)
    lasting = lfilter([np.sqrt(1.0 - keeps**2)], [1.0, -keeps], rng.standard_normal((len(v) + 1000, 3)), axis=0)[1000:]
    size = np.sqrt(np.mean(one.run.true_tau**2, axis=0))
    return changed(one.run.samples, one.run.true_tau + viscous * v + coulomb * np.tanh(v / 0.01) + 0.03 * size * lasting)


def test_intervals_hold_between_recordings_whose_errors_last_and_whose_friction_changes():
    one = bench()
    of_base = base.find(one.columns)
    usual = one.columns.regressor(*one.columns.usual_states(TIP_SPEED))
    fits = [base.fit(of_base, filtering.equations([another_day(seed)], one.columns), usual) for seed in range(16)]
    far = np.array([(x.beta - y.beta) / np.hypot(x.sd, y.sd) for x, y in itertools.combinations(fits, 2)])
    assert 0.90 < np.mean(np.abs(far) < 1.96) < 0.985
    assert np.mean([f.inflation for f in fits]) > 1.5 and np.mean([f.systematic for f in fits]) > 0.2


def with_rest(samples, count: int = 2000):
    """The samples, then the arm stands and its joints hold with any friction."""
    t = samples.t[-1] + np.diff(samples.t)[0] * np.arange(1, count + 1)
    stuck = samples.tau[-1] + np.sin(0.5 * t)[:, None] * [2.0, 0.6, 0.15]
    q = np.repeat(samples.q[-1:], count, axis=0)
    return replace(samples, t=np.r_[samples.t, t], q=np.r_[samples.q, q], tau=np.r_[samples.tau, stuck])


def test_fit_and_prediction_count_moving_joints_only():
    one = bench()
    other, pi = with_rest(one.other.samples), Columns(one.truth).believed()
    moved, both = (procedure.predict(one.columns, pi, samples) for samples in (one.other.samples, other))
    assert max(moved.overall, both.overall) < 0.015
    assert (both.moving < 0.6 * moved.moving).all()
    content = report.prediction_json(both._replace(moving=np.zeros(3), error=np.full(3, np.nan)), one.believed.joint_names)
    assert content["overall_percent"] is None and json.dumps(content, allow_nan=False)
    assert max(identified(one.columns, with_rest(one.run.samples)).residual.max(), found().residual.max()) < 0.015


# -- what is written -------------------------------------------------------------------------------------------


def test_the_urdf_written_passes_the_check_and_keeps_the_rest(tmp_path, capsys):
    result, path = found(), tmp_path / "identified.urdf"
    path.write_text(identified_urdf.text_of(result, "2026-01-02"))
    assert check.run(str(path), samples=20) == 0
    capsys.readouterr()
    read = description.load(path)
    assert_allclose(inertia.of_description(read), result.bodies.bodies, rtol=1e-5, atol=1e-7)
    assert_allclose(read.friction, bench().columns.drive("coulomb", result.bodies.pi), rtol=1e-6)
    assert path.read_text().count("identified 2026-01-02") == 3
    assert "The source of this arm's numbers" in path.read_text()  # comments stay


@mark.parametrize("seed", range(3))  # welded links, links without bodies, in any order
def test_links_of_all_shapes_are_written(seed):
    arm = description.parse(random_arm(seed))
    pi, some = 1.2 * inertia.of_description(arm), np.linspace(0.1, 0.2, arm.n)
    written = description.parse(identified_urdf.with_bodies(arm, pi, some, 2.0 * some))
    assert_allclose(inertia.of_description(written), pi, rtol=1e-6, atol=1e-7)
    assert_allclose([written.damping, written.friction], [some, 2.0 * some])


# -- from the shell --------------------------------------------------------------------------------------------


def test_the_shell_finds_a_motion_fits_predicts_and_refuses(tmp_path, capsys, monkeypatch):
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text(csv_text(with_rotors(), bench().believed.position_units)[:-30])  # the last line cut off

    def run(words: str, code: int = 0) -> tuple[str, str]:
        assert cli.main(["identify", *words.split()]) == code
        return tuple(capsys.readouterr())

    out.mkdir()
    (out / "identified.urdf").write_text("old")
    data = f"{path} --arm {ARM}"
    said, _ = run(f"fit {data} -o {out}")
    assert "misfit: 1.0" in said and "warning" not in said and "rotor" in json.loads((out / "fit.json").read_text())["drives"]
    assert (out / "identified.urdf.1").read_text() == "old"
    said, _ = run(f"predict {data} --fit {out}/fit.json --json")
    assert json.loads(said)["overall_percent"] < 6.0
    urdfs = [run(f"predict {path} {arm} --fit none --json")[0] for arm in (f"--urdf {out}/identified.urdf", f"--arm {ARM}")]
    better, worse = (json.loads(said)["overall_percent"] for said in urdfs)
    assert better < 0.7 * worse  # it has no rotors
    monkeypatch.setattr(Search.run, "__defaults__", (3, 3, 1))
    said, _ = run(f"excite --arm {ARM} --tip-speed 2 --periods 2 -o {out}/excitation.json --json")
    assert json.loads(said)["seconds"] == 20.0 and excitation.read(out / "excitation.json").trajectory.duration == approx(20.0)
    for words, reason in (
        (f"fit nowhere.csv --arm {ARM}", "cannot read samples nowhere.csv"),
        (f"fit {data} --torque-constant theta2=x", "must be NAME=NUMBER"),
        (f"predict {data} --fit no.json", "cannot read fit no.json"),
        (f"excite --arm {ARM} --tip-speed 0", "tip speed is 0.0"),
        ("run no.json", "no.json is not a motion"),
    ):
        _, err = run(f"{words} -o {tmp_path}/no" if "predict" not in words else words, InputError.exit_code)
        assert reason in err and len(err.splitlines()) == 1, err
    assert not (tmp_path / "no").exists()
