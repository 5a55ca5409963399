"""An arm with hidden numbers on MuJoCo: the motion chosen for it, what is found, what that predicts, what is written."""

import dataclasses
import json

import numpy as np
from arm_fixtures import picker, servos, shipped_arm
from identification_bench import ARM, TIP_SPEED, bench, found, physical
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, mark, raises

from picker_dynamics.commands import cli
from picker_dynamics.dynamics import check, rigid_body
from picker_dynamics.errors import DescriptionError, InfeasibleError, InputError, TrajectoryError
from picker_dynamics.estimation.identification import base, fourier, inertia, limits, procedure, report
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.excitation import Search
from picker_dynamics.robot import description

# -- excitation ------------------------------------------------------------------------------------------------


def test_fourier_series_starts_and_ends_at_rest_and_is_its_own_derivative():
    rng = np.random.default_rng(0)
    motion = fourier.Fourier(np.zeros(3), rng.normal(size=(2, 4, 3)), 5.0, periods=2)
    q, v, a = motion.sample([0.0, 5.0, 10.0])
    assert_allclose(v, 0.0, atol=1e-12)
    assert_allclose(a, 0.0, atol=1e-11)
    assert_allclose(q - q[0], 0.0, atol=1e-12)
    h, t = 1e-5, np.array([0.7, 3.1])
    q, v, a = motion.sample(t)
    before, after = motion.sample(t - h), motion.sample(t + h)
    assert_allclose((after[0] - before[0]) / (2 * h), v, atol=1e-7)
    assert_allclose((after[1] - before[1]) / (2 * h), a, atol=1e-6)
    sampled = motion.trajectory(("x", "y", "z")).sample(t)
    assert_allclose(sampled[0], q, atol=1e-4)


def test_the_motion_found_keeps_all_limits_and_tells_more_than_random_ones():
    one = bench()
    search, excitation = one.search, one.excitation
    search.limits.validator.validate(excitation.motion.trajectory(one.believed.joint_names))  # the controller's own check
    q, v, a = excitation.motion.sample(search.times(500))
    assert (q > one.believed.lower).all() and (q < one.believed.upper).all()
    assert (np.abs(v) < one.believed.velocity).all() and (np.abs(a) < search.limits.acceleration).all()
    assert excitation.condition < excitation.condition_drawn
    first, again = (search.run(shipped_arm(ARM).home, 5, drawn=5, bettered=5).motion for _ in range(2))
    assert_array_equal(again.free, first.free)


def test_a_servo_arm_gets_a_motion_that_its_gate_lets_through():
    arm = picker()
    allowed = limits.of_options("picker", arm, None)
    search = Search(base.find(Columns.of(arm)), allowed, 10.0)
    motion = search.run(servos(simulated=False).home, 1, drawn=40, bettered=0).motion
    assert allowed.tip_speed == 0.25
    allowed.validator.validate(motion.trajectory(arm.joint_names))


def test_no_motion_is_found_where_the_arm_cannot_even_stand():
    one = bench()
    validator = one.search.limits.validator
    feeble = dataclasses.replace(validator.limits, full=1e-3 * validator.limits.full)
    weak = dataclasses.replace(one.search.limits, validator=dataclasses.replace(validator, limits=feeble))
    with raises(InfeasibleError, match="no motion about the home pose"):
        Search(one.search.base, weak, 10.0).run(shipped_arm(ARM).home, 0, drawn=3, bettered=0)
    with raises(InputError, match="period is 0.1 s"):
        Search(one.search.base, weak, 0.1)


def test_motion_file_comes_back(tmp_path):
    one, path = bench(), tmp_path / "motion.json"
    path.write_text(fourier.text(one.excitation.motion, one.excitation.condition, ARM, one.believed, seed=0))
    read = fourier.read(path)
    assert read.joint_names == one.believed.joint_names and read.arm == ARM
    t = np.linspace(0.0, 10.0, 77)
    assert_allclose(read.trajectory.sample(t)[0], one.excitation.motion.sample(t)[0], atol=1e-4)
    content = json.loads(path.read_text())
    content["points"][3]["time_from_start"] = 0.0
    path.write_text(json.dumps(content))
    with raises(TrajectoryError):
        fourier.read(path)
    path.write_text('{"points": []}')
    with raises(InputError, match="is no motion of `picker identify excite`"):
        fourier.read(path)


# -- what is found ---------------------------------------------------------------------------------------------


def identified(columns: Columns, *recordings, **more) -> procedure.Identified:
    return procedure.identify(columns, recordings, tip_speed=TIP_SPEED, **more)


def error(columns: Columns, pi) -> float:
    """Of the efforts that are predicted for the other motion, against the true ones."""
    other = bench().other
    return procedure.predict(columns, pi, other.samples, truth=other.true_tau).overall


def test_torque_of_another_motion_is_predicted_within_two_per_cent():
    one, result = bench(), found()
    assert error(one.columns, result.bodies.pi) < 0.02 < 0.1 < error(one.columns, one.columns.believed())
    measured = procedure.predict(one.columns, result.bodies.pi, one.other.samples)
    assert measured.overall < 0.02  # 5 % noise, most of it above the cutoff


def test_base_parameters_and_friction_are_those_of_the_hidden_arm():
    one, result = bench(), found()
    truth = Columns.of(one.truth).believed()
    off = (result.base.beta - result.base.base.X @ truth) / result.base.sd
    assert np.abs(off).max() < 4.0 and np.mean(np.abs(off) < 1.96) > 0.75  # of 15, some correlated
    coulomb = one.columns.drive("coulomb", result.bodies.pi)
    assert_allclose(coulomb, one.truth.friction, rtol=0.08)
    believed = result.base.base.X @ one.columns.believed()
    assert np.abs((believed - result.base.base.X @ truth) / result.base.sd).max() > 20.0


def test_bodies_can_exist_and_what_torques_do_not_tell_stays_the_urdfs():
    result = found()
    assert all(physical(pi) for pi in result.bodies.bodies)
    told = dict(zip(bench().columns.names, result.bodies.sd / np.sqrt(np.diag(result.bodies.prior_covariance))))
    assert told["mx(bar4)"] < 0.05 < 0.9 < told["my(bar4)"]  # along the plane's normal nothing moves
    figures = report.as_json(result, ["a.csv"], "2026-01-02")["links"]["bar4"]
    assert not figures["cy"]["told"] and figures["iyy"]["sd"] > 0.0
    assert 1.0 <= result.misfit < 1.05 and not result.base.open and not result.strained


def test_outliers_count_little():
    one = bench()
    spoilt = dataclasses.replace(one.run.samples, tau=one.run.samples.tau.copy())
    spoilt.tau[500:540] += 4.0  # 0.16 s of a hand in the way: no spike, and not the arm
    result = identified(one.columns, spoilt)
    assert result.base.outliers >= 1 and error(one.columns, result.bodies.pi) < 0.03


def test_recordings_count_together_and_rotors_and_offsets_can_be_found():
    one = bench()
    columns = Columns.of(one.believed, rotors=True, offsets=True)
    offset, rotor = np.array([0.3, -0.2, 0.1]), np.array([0.0, 0.02, 0.005])
    samples = one.run.samples
    a = one.excitation.motion.sample(samples.t)[2]
    result = identified(columns, dataclasses.replace(samples, tau=samples.tau + offset + rotor * a))
    assert_allclose(columns.drive("offset", result.bodies.pi), offset, atol=0.05)
    off = (columns.drive("rotor", result.bodies.pi) - rotor) / columns.drive("rotor", result.bodies.sd)
    assert np.abs(off[1:]).max() < 4.0  # the first turns as its link does
    twice = identified(one.columns, one.run.samples, one.other.samples)
    assert twice.equations > 1.8 * found().equations and twice.base.sd.sum() < found().base.sd.sum()


def test_friction_that_is_not_looked_for_is_the_urdfs():
    one = bench()
    columns = Columns.of(one.truth, friction=False)
    result = identified(columns, one.run.samples)
    assert error(columns, result.bodies.pi) < 0.02
    assert report.urdf_text(result, "2026-01-02").count("damping ±") == 0
    assert_allclose(description.parse(report.urdf_text(result, "2026-01-02")).friction, one.truth.friction)


def still_but(moving: int):
    """Samples in which one joint moves alone; the torques follow."""
    one = bench()
    q, v, a = one.excitation.motion.sample(one.run.samples.t)
    for column in {0, 1, 2} - {moving}:
        q[:, column], v[:, column], a[:, column] = shipped_arm(ARM).home[column], 0.0, 0.0
    tau = rigid_body.RigidBody(one.truth).inverse_dynamics(q, v, a) + np.random.default_rng(0).normal(0.0, 0.02, q.shape)
    return dataclasses.replace(one.run.samples, q=q, tau=tau)


def test_a_motion_that_tells_too_little_is_refused_by_name_and_can_be_allowed():
    one = bench()
    frictionless = Columns.of(one.believed, friction=False)
    with raises(InputError, match=r"leaves open: .*(bar3|theta3).*picker identify excite"):
        identified(Columns.of(one.believed), still_but(0))
    with raises(InputError, match=r"leaves open: .*picker identify excite"):
        identified(frictionless, still_but(2))
    allowed = identified(frictionless, still_but(2), allow_open=True)
    assert allowed.base.open and all(physical(pi) for pi in allowed.bodies.bodies)
    with raises(InputError, match="too short for a cutoff of 5 Hz"):
        identified(one.columns, one.run.samples.between(0.0, 2.5))
    with raises(InputError, match="no recording"):
        identified(one.columns)


# -- what is written -------------------------------------------------------------------------------------------


def test_the_urdf_written_passes_the_check_and_says_how_sure_it_is(tmp_path, capsys):
    result, path = found(), tmp_path / "identified.urdf"
    path.write_text(report.urdf_text(result, "2026-01-02"))
    assert check.run(str(path), samples=20) == 0
    capsys.readouterr()
    read = description.load(path)
    assert_allclose(inertia.of_description(read), result.bodies.bodies, rtol=1e-5, atol=1e-7)
    assert_allclose(read.friction, bench().columns.drive("coulomb", result.bodies.pi), rtol=1e-6)
    assert path.read_text().count("identified 2026-01-02") == 6 and "mass ±" in path.read_text()
    assert "The source of this arm's numbers" in path.read_text()  # comments stay


def test_links_of_all_shapes_are_written():
    text = (
        '<robot name="r"><link name="base"/><!-- <link name="a"> -->'
        '<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        '<link name="a"/><joint name="f" type="fixed"><parent link="a"/><child link="b"/><origin xyz="0.1 0 0"/></joint>'
        "<link name='b'><inertial><mass value='1'/>"
        "<inertia ixx='1e-3' ixy='0' ixz='0' iyy='1e-3' iyz='0' izz='1e-3'/></inertial></link></robot>"
    )
    arm = description.parse(text)
    pi = 1.2 * inertia.of_description(arm)
    written = description.parse(report.with_bodies(arm, pi, np.array([0.1]), np.array([0.2])))
    assert_allclose(inertia.of_description(written), pi)
    assert not written.links["b"].has_inertial and written.friction[0] == 0.2 and written.damping[0] == 0.1
    odd = dataclasses.replace(arm, urdf=text.replace("name='b'", "name='&#98;'"))
    with raises(DescriptionError, match="link b: not found"):
        report.with_bodies(odd, pi, np.zeros(1), np.zeros(1))


# -- from the shell --------------------------------------------------------------------------------------------


@mark.long
def test_the_whole_way_from_the_shell(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("picker_dynamics.estimation.identification.excitation.DRAWN", 30)
    monkeypatch.setattr("picker_dynamics.estimation.identification.excitation.BETTERED", 60)
    monkeypatch.chdir(tmp_path)

    def run(words) -> tuple[int, str, str]:
        code = cli.main(["identify", *words.split()])
        return code, *capsys.readouterr()

    code, out, _ = run(f"rehearse --arm {ARM} --tip-speed 2 --seed 2 --json --period 6 --periods 1")
    result = json.loads(out)
    assert code == 0 and result["identified"]["overall_percent"] < 2.0 < result["urdf"]["overall_percent"]
    folder = tmp_path / "out/identification"
    made = {"excitation.json", "samples.csv", "other.csv", "identified.urdf", "fit.json"}
    assert {path.name for path in folder.iterdir()} == made
    before = (folder / "identified.urdf").read_text()

    code, out, _ = run(f"fit {folder}/samples.csv --arm {ARM} --tip-speed 2")
    assert code == 0 and "15 base parameters" in out and "kept as identified.urdf.1" in out
    assert (folder / "identified.urdf.1").read_text() == before
    other = f"predict {folder}/other.csv"
    code, out, _ = run(f"{other} --arm {ARM} --json")
    fitted = json.loads(out)["overall_percent"]
    code, out, _ = run(f"{other} --urdf {folder}/identified.urdf --fit none --json")
    assert code == 0 and json.loads(out)["overall_percent"] == approx(fitted, rel=1e-3)
    assert run(f"{other} --arm {ARM} --fit none --limit-percent 5")[0] == 1

    samples = folder / "samples.csv"
    for words, reason in (
        (f"fit nowhere.csv --arm {ARM}", "cannot read samples nowhere.csv"),
        (f"fit {samples} --arm rrp", "no column position_theta1"),
        (f"fit {samples} --arm {ARM} --to 0.2", "samples, at least 100"),
        (f"fit {samples} --arm {ARM} --torque-constant theta2=x", "JOINT=NUMBER"),
        (f"predict {samples} --arm {ARM} --fit no.json", "no.json is no result"),
        (f"excite --arm {ARM} --tip-speed 0", "tip speed is 0.0"),
        ("run no.json", "no.json is no motion"),
    ):
        code, _, err = run(words)
        assert code == InputError.exit_code and reason in err and len(err.splitlines()) == 1, err
    assert len(list(folder.iterdir())) == 7  # two backups; what was refused wrote nothing
