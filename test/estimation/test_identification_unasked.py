"""What nobody named and a recording shows: rotors, a payload, friction of another day, joints at rest, slower motions."""

import dataclasses
import functools
import itertools
import json

import numpy as np
from identification_bench import TIP_SPEED, bench
from numpy.testing import assert_allclose
from pytest import approx, mark, raises
from scipy.signal import lfilter

from picker_dynamics.commands import cli
from picker_dynamics.errors import InputError
from picker_dynamics.estimation.identification import base, filtering, inertia, limits, procedure, report, sample_files
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.robot import description

ROTORS = np.array([0.0, 0.05, 0.02])
LIGHT = np.array([1.0, 1.0, 0.05])[:, None]


@functools.cache
def columns_of(load: bool) -> Columns:
    """The bench's arm, or one whose URDF knows a twentieth of the last body: the rest is a payload that it does not know."""
    believed = bench().believed
    if not load:
        return Columns.of(believed)
    bodies = LIGHT * inertia.of_description(believed)
    return Columns.of(description.parse(report.with_bodies(believed, bodies, believed.damping, believed.friction)))


@functools.cache
def recorded(rotors: bool = False):
    """The bench's recording, had the arm such rotors."""
    one = bench()
    samples = one.run.samples
    a = one.excitation.motion.sample(samples.t)[2]
    return dataclasses.replace(samples, tau=samples.tau + rotors * ROTORS * a)


@functools.cache
def tried(rotors: bool = False, load: bool = False) -> procedure.Identified:
    return procedure.identify(columns_of(load), [recorded(rotors)], tip_speed=TIP_SPEED, try_rotors=True, payload=None)


@mark.parametrize("rotors, load", [(False, True), (True, False)])
def test_rotors_and_a_payload_are_found_where_they_are_and_only_there(rotors, load):
    result = tried(rotors, load)
    assert {one.name: one.kept for one in result.trials} == {"rotors": rotors, "payload": load}
    assert all((one.odds > 5.0) is one.kept for one in result.trials)
    assert ("rotor" in result.bodies.columns.drives) is rotors and (result.bodies.load is not None) is load
    assert not result.strained


def test_rotors_that_were_found_are_the_hidden_ones():
    result = tried(rotors=True)
    columns = result.bodies.columns
    off = (columns.drive("rotor", result.bodies.pi) - ROTORS) / columns.drive("rotor", result.bodies.sd)
    assert np.abs(off[1:]).max() < 4.0  # the first turns as its link does


def test_a_payload_is_told_with_its_mass_and_place_and_is_part_of_the_link_that_bears_it():
    result = tried(load=True)
    truth = inertia.figures(inertia.of_description(bench().truth)[2] - LIGHT[2] * inertia.of_description(bench().believed)[2])
    values, sds = result.bodies.load_figures()
    assert np.abs((values - truth) / sds)[:4].max() < 2.5 and sds[0] < 0.7 * truth[0]
    content = report.as_json(result, ["a.csv"], "2026-01-02")
    assert content["payload"]["link"] == "bar4" and content["payload"]["mass"]["value"] == approx(values[0])
    own, believed = result.bodies.bodies[2][0] - values[0], columns_of(True).believed()[20]
    assert abs(own - believed) < 0.6 * believed  # as far as its prior goes
    assert "with a payload, 95 %:" in report.urdf_text(result, "2026-01-02")
    assert procedure.predict(result.bodies.columns, result.bodies.pi, recorded()).overall < 0.02
    assert report.as_json(tried(), [], "")["payload"] is None and "payload" not in report.urdf_text(tried(), "")


def test_a_body_that_had_to_leave_what_was_believed_is_told():
    result = procedure.identify(columns_of(True), [recorded()], tip_speed=TIP_SPEED)
    assert [link for link, far in result.strained] == ["bar4"] and result.strained[0][1] > 3.0
    assert "bar4" in report.as_json(result, [], "")["far_from_urdf"]


# -- intervals between recordings ------------------------------------------------------------------------------


def another_day(seed: int):
    """The bench's motion with the friction of another day and an error that goes on for a while, as elastic joints make."""
    one, rng = bench(), np.random.default_rng(seed)
    samples = one.run.samples
    v = one.excitation.motion.sample(samples.t)[1]
    columns, pi = Columns.of(one.truth), Columns.of(one.truth).believed()
    friction = pi.copy()
    friction[columns.friction] *= 0.05 * rng.standard_normal(np.count_nonzero(columns.friction))
    friction[~columns.friction] = 0.0
    drift = np.stack(
        [friction[columns.bodies + j] * v[:, j] + friction[columns.bodies + 3 + j] * np.tanh(v[:, j] / 0.01) for j in range(3)],
        axis=-1,
    )
    keeps = np.exp(-(samples.t[1] - samples.t[0]) / 0.3)
    lasting = lfilter([np.sqrt(1.0 - keeps**2)], [1.0, -keeps], rng.standard_normal((len(v) + 1000, 3)), axis=0)[1000:]
    size = np.sqrt(np.mean(one.run.true_tau**2, axis=0))
    return dataclasses.replace(samples, tau=one.run.true_tau + drift + 0.03 * size * lasting)


def test_intervals_hold_between_recordings_whose_errors_last_and_whose_friction_changes():
    one = bench()
    of_base = base.find(one.columns)
    usual = one.columns.regressor(*limits.usual_states(one.believed, one.columns.model, TIP_SPEED))
    fits = [base.fit(of_base, [filtering.equations(another_day(seed), one.columns)], usual) for seed in range(16)]
    far = np.array([(x.beta - y.beta) / np.hypot(x.sd, y.sd) for x, y in itertools.combinations(fits, 2)])
    assert 0.90 < np.mean(np.abs(far) < 1.96) < 0.985
    as_if_independent = np.array([f.beta for f in fits]).std(axis=0) / np.mean([f.sd for f in fits], axis=0)
    assert 0.6 < np.sqrt(np.mean(as_if_independent**2)) < 1.2
    assert np.mean([f.inflation for f in fits]) > 1.5 and np.mean([f.systematic for f in fits]) > 0.2


def test_errors_of_noise_alone_are_not_called_systematic():
    result = tried()
    assert result.base.systematic.max() < 0.4 and 1.0 <= result.misfit < 1.05


# -- rest, speed, one way --------------------------------------------------------------------------------------


def with_rest(samples, seconds: float = 8.0):
    """The samples, then the arm stands and its joints hold with any friction."""
    step = samples.t[1] - samples.t[0]
    count = round(seconds / step)
    t = samples.t[-1] + step * np.arange(1, count + 1)
    stuck = samples.tau[-1] + np.sin(0.5 * t)[:, None] * [2.0, 0.6, 0.15]
    return dataclasses.replace(
        samples,
        t=np.concatenate([samples.t, t]),
        q=np.concatenate([samples.q, np.repeat(samples.q[-1:], count, axis=0)]),
        tau=np.concatenate([samples.tau, stuck]),
    )


def test_fit_and_prediction_count_moving_joints_and_tell_rest_apart():
    one = bench()
    other = with_rest(one.other.samples)
    pi = Columns.of(one.truth).believed()
    moved, both = (procedure.predict(one.columns, pi, samples) for samples in (one.other.samples, other))
    assert max(moved.overall, both.overall) < 0.015
    assert 3.0 * both.overall < both.everything < both.resting
    assert (both.moving < 0.6 * moved.moving).all()
    frictionless = procedure.predict(Columns.of(one.truth, friction=False), pi[:30], other)
    assert_allclose(frictionless.moving, 1.0)  # as its fit counts
    content = report.prediction_json(frictionless, one.believed.joint_names)
    assert content["resting_percent"] is None and json.dumps(content, allow_nan=False)
    fitted = procedure.identify(one.columns, [with_rest(one.run.samples)], tip_speed=TIP_SPEED)
    plain = procedure.identify(one.columns, [one.run.samples], tip_speed=TIP_SPEED)
    assert max(fitted.residual.max(), plain.residual.max()) < 0.015


def test_what_is_open_is_judged_by_the_recordings_own_speed_and_the_option_is_named():
    one = bench()
    v = one.excitation.motion.sample(one.run.samples.t)[1]
    result = procedure.identify(one.columns, [one.run.samples])
    fastest = limits.tip_speeds(one.columns.model, one.run.samples.q, v).max()
    assert result.tip_speed == approx(fastest, rel=0.05)
    noise = np.random.default_rng(0).normal(0.0, [6.0, 2.0, 0.6], v.shape)
    noisy = dataclasses.replace(one.run.samples, tau=one.run.samples.tau + noise)
    for tip_speed, said in ((None, f"{result.tip_speed:.3g}"), (0.5, "0.5")):
        with raises(
            InputError, match=rf"leaves open: .*at up to {said} m/s of the tool uncertain: --tip-speed M_S if .* --allow-open"
        ):
            procedure.identify(one.columns, [noisy], tip_speed=tip_speed)


def test_recordings_without_motion_or_one_way_only_are_refused():
    one = bench()
    samples = one.run.samples
    still = dataclasses.replace(samples, q=np.repeat(samples.q[:1], len(samples.t), axis=0))
    with raises(InputError, match="no joint moves faster than 0.02 rad/s"):
        procedure.identify(one.columns, [still])
    t = samples.t[:1500]
    q = samples.q[:1500].copy()
    q[:, 1] = np.linspace(-0.5, 1.0, 1500)
    with raises(InputError, match=f"{one.believed.joint_names[1]} moves one way only: .*--no-friction"):
        procedure.identify(one.columns, [dataclasses.replace(samples, t=t, q=q, tau=samples.tau[:1500])])


# -- from the shell --------------------------------------------------------------------------------------------


def test_the_shell_tells_what_was_found_unasked(tmp_path, capsys):
    path, out, urdf = tmp_path / "a.csv", tmp_path / "out", tmp_path / "light.urdf"
    urdf.write_text(columns_of(True).description.urdf)
    header, body = sample_files.csv_text(recorded(rotors=True), bench().believed.position_units).split("\n", 1)
    path.write_text(body.rstrip("\n")[:-30])  # no names, and the last line cut off
    arm = [str(path), "--urdf", str(urdf), "--columns", header]

    def run(*words: str) -> tuple[str, str]:
        assert cli.main(["identify", words[0], *arm, *words[1:]]) == 0
        return tuple(capsys.readouterr())

    said, _ = run("fit", "-o", str(out))
    for words in (
        "was cut off and is left out",
        "rotors: explained clearly more, kept",
        "payload: explained clearly more, kept",
        "payload that the URDF does not have:",
        "misfit 1.0",
        "how much of that is no noise",
    ):
        assert words in said
    assert "warning" not in said
    content = json.loads((out / "fit.json").read_text())
    assert [one["kept"] for one in content["tried"]] == [True, True] and "rotor" in content["drives"]
    said, remarks = run("predict", "--fit", str(out / "fit.json"), "--json")
    assert json.loads(said)["overall_percent"] < 6.0 and "was cut off" in remarks
    said, _ = run("fit", "-o", str(out), "--no-rotors", "--no-payload")
    assert "tried" not in said and "kept (" not in said and "warning: bar4 came out far from what the URDF says" in said
