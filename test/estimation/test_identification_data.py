"""Recordings as CSV and bags, what is refused of them, and how they are filtered."""

import dataclasses
import math
from contextlib import nullcontext

import numpy as np
from arm_fixtures import shipped_arm
from numpy.testing import assert_allclose, assert_array_equal
from pytest import mark, raises
from recordings import written_by_us

from picker_dynamics.errors import InputError, JointNamesError, LimitError
from picker_dynamics.estimation.identification import filtering
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.samples import Samples, checked, csv_text, read_samples
from picker_dynamics.recording.messages import joint_state, text
from picker_dynamics.robot import arm_text, description

RRP = shipped_arm("rrp").description
DT = 0.004


def wave(count: int = 1000, velocity: bool = True, t=None) -> Samples:
    """A smooth motion within the limits, with the torque that it takes."""
    t = DT * np.arange(count) if t is None else t
    w, phase = 2.0 * math.pi * np.array([0.3, 0.4, 0.5]), np.array([0.0, 0.4, 0.9])
    centre, swing = shipped_arm("rrp").home, np.array([0.6, 0.3, 0.2])
    q, v, a = (swing * w**k * f(np.outer(t, w) + phase) for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x))))
    tau = Columns(RRP).model.inverse_dynamics(centre + q, v, a)
    return Samples(RRP.joint_names, t, centre + q, v if velocity else None, tau, "wave")


def read_text(folder, text: str, constants=None) -> Samples:
    (folder / "a.csv").write_text(text)
    return read_samples(folder / "a.csv", RRP, constants)


@mark.parametrize("velocity", [True, False])
def test_csv_comes_back(tmp_path, velocity):
    read = read_text(tmp_path, csv_text(wave(velocity=velocity), RRP.position_units))
    assert_allclose(read.q, wave().q, atol=1e-8)
    assert_allclose(read.tau, wave().tau, rtol=1e-7, atol=1e-6)
    assert (read.v is None) is not velocity
    checked(read, RRP)


LINES = (
    "time_s,note,position_theta1_deg,position_theta2_rad,position_d3_m,effort_theta1_nm,effort_theta2_nm,current_d3_a"
    "\n0.0,x,90,1,0.5,2,3,4\n0.01,y,45,1,0.5,2,3,4\n"
)


def test_degrees_currents_more_columns_and_a_last_line_that_was_cut_off(tmp_path):
    whole = read_text(tmp_path, LINES, {"d3": 50.0})
    assert_allclose(whole.q[:, 0], np.radians([90.0, 45.0]))
    assert_allclose(whole.tau[:, 2], 200.0)
    for end in ("0.02,z,1,1", "0.02,z,1,1,0.5,2,3,\n\n"):
        assert_array_equal(read_text(tmp_path, LINES + end, {"d3": 50.0}).q, whole.q)
    assert_array_equal(read_text(tmp_path, LINES.replace("2,3,4\n", "2,3,4,5\n"), {"d3": 50.0}).tau, whole.tau)


@mark.parametrize(
    "text, constants, reason",
    [
        ("", {}, "no column"),
        (LINES, {}, r"no column effort_d3_n \(a current_d3_a takes --torque-constant d3=NM_PER_A\); there are"),
        (LINES.replace("3_a", "3"), {"d3": 2.0}, "no column current_d3_a"),
        (LINES, {"d3": 2.0, "d4": 2.0}, "torque constant for 'd4': no such joint"),
        (LINES + "0.02,z,1\n0.03,z,1,1,0.5,2,3,4\n", {"d3": 2.0}, r"Line #3 \(got 3 columns"),
        ("1,2\n3,4\n", {}, "its first line is numbers"),
    ],
)
def test_csv_that_is_none_is_refused(tmp_path, text, constants, reason):
    with raises(InputError, match=reason):
        read_text(tmp_path, text, constants)


def recorded(path, samples: Samples, efforts: bool = True, told=()):
    """Such samples as an MCAP recording of ``joint_states``, joints in another order."""
    order = [2, 0, 1]
    names = [samples.joint_names[i] for i in order]
    rows = zip(100.0 + samples.t, samples.q, samples.tau)
    states = [(t, joint_state(t, names, q[order], effort=tau[order] if efforts else None)) for t, q, tau in rows]
    return written_by_us(path, [*told, *(("/joint_states", "sensor_msgs/msg/JointState", t, state) for t, state in states)])


def test_bags_come_back_and_those_of_other_arms_or_without_efforts_are_refused(tmp_path):
    read = read_samples(recorded(tmp_path / "a.mcap", wave(300)), RRP, {"d3": 2.0})
    assert_allclose(read.t, wave(300).t, atol=1e-6)
    assert_allclose(read.q, wave(300).q)
    assert_allclose(read.tau, wave(300).tau * [1.0, 1.0, 2.0])
    with raises(JointNamesError, match="no joint theta3, theta4"):
        read_samples(tmp_path / "a.mcap", shipped_arm("three_link").description)
    with raises(InputError, match="cannot read"):
        read_samples(tmp_path / "b.csv", RRP)
    with raises(InputError, match="no efforts"):
        read_samples(recorded(tmp_path / "b.mcap", wave(120), efforts=False), RRP)
    turned = description.parse(RRP.urdf.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 -1"/>', 1))
    for told, of in ((RRP, True), (turned, False)):
        arm = text(arm_text.text_of(arm_text.Known(told, torque=shipped_arm("rrp"))))
        path = recorded(tmp_path / f"{of}.mcap", wave(120), told=[("/arm_controller/arm", "", 99.0, arm)])
        with nullcontext() if of else raises(InputError, match="another arm: theta1 moves about or along another axis"):
            read_samples(path, RRP)


def changed(**values) -> Samples:
    return dataclasses.replace(wave(), **values)


def at(array: np.ndarray, index, value: float) -> np.ndarray:
    array = array.copy()
    array[index] = value
    return array


@mark.parametrize(
    "samples, kind, reason",
    [
        (changed(q=at(wave().q, (5, 1), np.nan)), InputError, "q of theta2 is nan in sample 5"),
        (changed(t=at(wave().t, 9, 0.0)), InputError, "time does not increase at sample 9"),
        (changed(t=1000.0 * wave().t), InputError, r"0.25 samples a second.*milliseconds for seconds\?"),
        (changed(t=0.01 * wave().t), InputError, "0.040 s at"),
        (wave(0), InputError, "0 samples, at least 100"),
        (changed(q=np.degrees(wave().q) * [1, 1, math.radians(1)]), LimitError, r"theta1 reads .*degrees for radians\?"),
        (changed(q=wave().q * [1, 1, 1000]), LimitError, r"d3 reads .*millimetres for metres\?"),
        (changed(tau=wave().tau * [1, 0, 1]), InputError, "effort of theta2 is 0 all the time"),
        (changed(tau=wave().tau * [1, 1000, 1]), LimitError, "effort of theta2 reaches .*another unit"),
        (changed(v=np.degrees(wave().v)), InputError, "positions of theta1 move .* its velocity .*degrees"),
    ],
)
def test_readings_that_cannot_be_are_refused(samples, kind, reason):
    with raises(kind, match=reason):
        checked(samples, RRP)


def derivatives(samples: Samples) -> float:
    """Worst error of v and a where they are used, as a share of the largest; against those of the wave itself."""
    one = filtering.motion(samples)
    exact = wave(t=one.t)
    a = np.gradient(exact.v, one.dt, axis=0)
    inner = one.used & (one.t > 0.5) & (one.t < one.t[-1] - 0.5)
    return max(float(np.abs((found - true)[inner]).max() / np.abs(true).max()) for found, true in ((one.v, exact.v), (one.a, a)))


def test_derivatives_have_no_lag_and_uneven_times_gaps_and_spikes_do_no_harm():
    rng = np.random.default_rng(0)
    t = np.sort(wave().t + rng.uniform(-0.3, 0.3, 1000) * DT)
    spiked = wave(velocity=False)
    for row in (100, 400, 700):
        spiked.q[row, 0] += 0.5
        spiked.tau[row, 1] -= 300.0
    for samples in (wave(), wave(velocity=False), wave(velocity=False, t=t), spiked):
        assert derivatives(samples) < 2e-3
    kept = np.r_[0:400, 500:2000]
    gap = filtering.motion(wave(velocity=False, t=wave(2000).t[kept]))
    assert not gap.used[400:500].any() and gap.used[110:290].all()


def test_equations_hold_for_what_was_measured():
    columns = Columns(RRP)
    one = filtering.equations([wave(2000, velocity=False)], columns)
    assert np.abs(one.tau - one.Y @ columns.believed()).max() < 2e-3 * np.abs(one.tau).max()
    for cutoff_hz in (0.0, 100.0, -1.0):
        with raises(InputError, match="cutoff is"):
            filtering.motion(wave(), cutoff_hz)
    with raises(InputError, match="too short"):
        filtering.motion(wave(), 1.0)
