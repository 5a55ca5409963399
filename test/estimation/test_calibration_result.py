"""Files of a calibration: numbers with provenance, backups, nothing half written, and nothing that fails the check."""

import os
from dataclasses import replace

import numpy as np
from arm_fixtures import picker, servos
from pytest import approx, mark, raises

from picker_dynamics.errors import ConfigurationError, DescriptionError
from picker_dynamics.estimation.calibration.arm_estimate import LinkProperties
from picker_dynamics.estimation.calibration.readings import Measured
from picker_dynamics.estimation.calibration.servo_figures import ServoFigures, calibrated_servos
from picker_dynamics.estimation.calibration.write_back import check_result, overlay_text, urdf_text, write
from picker_dynamics.robot import description as descriptions

ARM, BELIEVED = picker(), servos(simulated=False)
LINKS = {"upper_arm": LinkProperties(Measured(0.16, 6e-4), Measured(0.105, 3e-4), Measured(5.4e-4, 2e-5))}
FIGURES = {
    "shoulder": ServoFigures(
        Measured(0.03, 0.002),
        Measured(-0.02, 0.001),
        Measured(11.0, 0.3),
        Measured(0.009, 5e-4),
        load_friction=Measured(0.3, 0.02),
        coulomb=Measured(0.02, 0.004),
    ),
    "base": ServoFigures(Measured(-0.01, 0.002), Measured(0.01, 0.002)),
}


def written(tmp_path, servos_after, **more):
    path = tmp_path / "overlay.yaml"
    path.write_text(overlay_text(servos_after, "2026-05-04", **{"before": BELIEVED, **more}))
    return servos(overlay=path), path.read_text()


# -- the overlay ---------------------------------------------------------------------------------------


def test_friction_and_play_that_were_found_are_known_and_those_of_other_joints_are_assumed(tmp_path):
    again, _ = written(tmp_path, calibrated_servos(BELIEVED, FIGURES))
    shoulder, elbow = again.servos[1], again.servos[2]
    assert (shoulder.load_friction, shoulder.coulomb) == approx((0.3, 0.02))
    assert (
        shoulder.deadband + 0.5 * shoulder.play == approx(0.009, abs=1e-6)
        and shoulder.deadband_us == BELIEVED.servos[1].deadband_us
    )
    assert not {"load_friction", "coulomb_nm", "play_deg", "stiffness_nm_rad"} & set(shoulder.unmeasured)
    assert {"load_friction", "coulomb_nm", "play_deg"} <= set(elbow.unmeasured) and elbow.load_friction == 0.4
    assert elbow.stiffness == approx(11.0), "the mean of those measured"
    assert elbow.stiffness_sd == approx(11.0 * 0.2, rel=0.2), "one servo may give 20 % more than another"


def test_a_map_without_friction_gets_typical_one_where_none_was_measured_and_a_narrow_gap_is_all_deadband(tmp_path):
    bare = tuple(replace(one, load_friction=0.0, coulomb=0.0, play=0.0, unmeasured=()) for one in BELIEVED.servos)
    narrow = replace(FIGURES["shoulder"], gap=Measured(0.002, 5e-4))
    made = calibrated_servos(replace(BELIEVED, servos=bare), FIGURES | {"shoulder": narrow})
    elbow, shoulder = made.servos[2], made.servos[1]
    assert elbow.stiffness == bare[2].stiffness and "stiffness_nm_rad" not in elbow.unmeasured
    assert (elbow.load_friction, elbow.coulomb, elbow.play) == approx((0.4, 0.02 * 1.08, np.radians(0.5)))
    assert shoulder.deadband == approx(0.002) and shoulder.play == 0.0
    _, text = written(tmp_path, made, before=replace(BELIEVED, servos=bare))
    assert "load_friction: {value: 0.4, measured: false}" in text


def test_what_was_set_beside_is_written_and_what_an_earlier_overlay_had(tmp_path):
    """Direction and rest pose are no estimates of the fit; they come from the session, and differ from before."""
    earlier = tmp_path / "earlier.yaml"
    earlier.write_text(
        "board: {supply_a: 8.0}\ndefaults: {deadband_us: 4.0}\njoints:\n  base: {rest_rad: 0.3, armature_kg_m2: 0.002}\n"
    )
    changed = calibrated_servos(servos(overlay=earlier), FIGURES)
    turned = tuple(replace(one, direction=-one.direction, rest=0.1) if one.joint == "base" else one for one in changed.servos)
    again, text = written(tmp_path, replace(changed, servos=turned), before=BELIEVED, earlier=str(earlier))
    assert again.supply_a == 8.0 and again.servos[0].armature == 2e-3
    assert again.servos[0].direction == -BELIEVED.servos[0].direction and again.servos[0].rest == 0.1
    assert "rest_rad: 0.1" in text
    np.testing.assert_allclose(again.servos[1].horn_angles, changed.servos[1].horn_angles, atol=1e-5)
    assert written(tmp_path, BELIEVED)[0] == BELIEVED, "nothing found: no differences"


# -- the URDF ------------------------------------------------------------------------------------------


def test_every_number_of_the_urdf_says_where_it_comes_from():
    text = urdf_text(ARM, LINKS, "2026-05-04", limits={"shoulder": (-0.20005, 2.50009)})
    assert text.count("<!-- measured 2026-05-04 -->") == 1
    arm = descriptions.parse(text)
    assert (arm.links["upper_arm"].mass, arm.links["upper_arm"].com[0]) == approx((0.16, 0.105))
    assert arm.joint("shoulder").lower == -0.2000 and arm.joint("shoulder").upper == 2.5000
    assert arm.joint("elbow").lower == ARM.joint("elbow").lower
    again = urdf_text(arm, LINKS, "2026-06-01")
    assert again.count("<!-- measured 2026-06-01 -->") == 1 and "2026-05-04" not in again


def test_a_link_without_inertial_never_gets_anothers():
    text = ARM.urdf
    start = text.index('<link name="upper_arm">')
    begin, end = text.index("<inertial>", start), text.index("</inertial>", start) + len("</inertial>")
    bare = replace(ARM, urdf=text[:begin] + text[end:])
    with raises(DescriptionError, match="link upper_arm: no <inertial> to replace"):
        urdf_text(bare, LINKS, "today")
    with raises(DescriptionError, match="joint knee: no <limit> to replace"):
        urdf_text(ARM, {}, "today", limits={"knee": (0.0, 1.0)})


# -- files ---------------------------------------------------------------------------------------------


def test_what_was_there_is_kept_and_stays_where_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "arm.urdf"
    assert write(path, "one") is None
    assert write(path, "two") == tmp_path / "deep" / "arm.urdf.1"
    assert write(path, "three") == tmp_path / "deep" / "arm.urdf.2"
    assert [one.read_text() for one in sorted(path.parent.iterdir())] == ["three", "one", "two"]

    monkeypatch.setattr(os, "fsync", lambda _fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with raises(ConfigurationError, match="cannot write .*arm.urdf: No space left"):
        write(path, "four")
    assert path.read_text() == "three" and not [one for one in path.parent.iterdir() if one.name.startswith(".")]


def test_a_result_in_order_passes_the_check():
    after = calibrated_servos(BELIEVED, FIGURES)
    assert check_result(urdf_text(ARM, LINKS, "today"), overlay_text(after, "today", before=BELIEVED)) == []


@mark.parametrize(
    "urdf_change, overlay, named",
    [
        (('<mass value="0.12"/>', '<mass value="-0.12"/>'), "joints: {}", "forearm"),
        (('iyy="5.000e-4"', 'iyy="-5.000e-4"'), "joints: {}", "a principal moment is negative"),
        ((), "joints:\n  shoulder: {stiffness_nm_rad: -3}", "stiffness_nm_rad is -3, must be > 0"),
        ((), "joints:\n  knee: {}", "servos.calibrated.yaml: joints: unknown 'knee'"),
    ],
    ids=["mass", "inertia", "stiffness", "joint"],
)
def test_a_result_that_fails_the_check_is_refused(urdf_change, overlay, named):
    with raises(DescriptionError, match=named):
        check_result(ARM.urdf.replace(*urdf_change, 1) if urdf_change else ARM.urdf, overlay)
