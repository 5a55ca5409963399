"""``picker compare``: which numbers differ, what they are worth on an arm with hidden errors, and on a ruler."""

import json

from arm_fixtures import picker, servos
from pytest import approx, fixture, mark, raises

from picker_dynamics.commands import cli
from picker_dynamics.errors import ConfigurationError, JointNamesError
from picker_dynamics.estimation.calibration import compare
from picker_dynamics.resources import resource

URDF, SIM = str(resource("urdf/picker.urdf")), str(resource("config/servos.sim.yaml"))


@fixture
def folder(tmp_path):
    """What a calibration might have written: a heavier forearm, a stiffer shoulder."""
    made = tmp_path / "calibrated"
    made.mkdir()
    (made / "arm.urdf").write_text(picker().urdf.replace('<mass value="0.12"/>', '<mass value="0.132"/>'))
    (made / "servos.calibrated.yaml").write_text("joints:\n  shoulder: {stiffness_nm_rad: 12.5, zero_deg: -66.0}\n")
    return made


# -- numbers -------------------------------------------------------------------------------------------


def test_only_what_differs_is_listed(folder):
    before, after = compare.load(compare.SHIPPED), compare.load(str(folder))
    found = {(one["where"], one["figure"]): (one["before"], one["after"]) for one in compare.differences(before, after)}
    assert set(found) == {("shoulder", "stiffness_nm_rad"), ("shoulder", "zero_deg"), ("forearm", "mass_kg")}
    assert found["shoulder", "zero_deg"] == approx((-65.0, -66.0)) and found["forearm", "mass_kg"] == approx((0.12, 0.132))
    assert compare.differences(before, compare.load(URDF)) == []
    assert compare.load(f"{URDF},{SIM}").servos == servos()


@mark.parametrize(
    "name, named",
    [
        ("/nowhere", "no such file: /nowhere; give a folder"),
        (f"{URDF},/nowhere.yaml", "no such file: /nowhere.yaml"),
        (str(resource("config/servos.yaml").parent), "no such file: .*arm.urdf; give a folder that picker calibrate wrote"),
    ],
)
def test_what_is_not_there_is_named(name, named):
    with raises(ConfigurationError, match=named):
        compare.load(name)


def test_other_arms_are_not_compared(folder, tmp_path):
    other, servos = tmp_path / "renamed.urdf", tmp_path / "servos.yaml"
    for old, new in (("hand", "fist"), ("wrist", "knuckle")):
        other.write_text(picker().urdf.replace(f'"{old}"', f'"{new}"'))
        servos.write_text(resource("config/servos.yaml").read_text().replace(f"  {old}:", f"  {new}:"))
        with raises(JointNamesError, match=f"not the same arm: only one of them has .*{new}"):
            compare.differences(compare.load(compare.SHIPPED), compare.load(str(other), str(servos)))


# -- what they are worth -------------------------------------------------------------------------------


# -- the command ---------------------------------------------------------------------------------------


def test_the_command_says_what_better_numbers_are_worth_and_fails_where_they_are_worse(few_poses, capsys):
    better = f"{URDF},{SIM}"
    assert cli.main(["compare", better, "shipped", "--plant-error", "0.15", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert {one["figure"] for one in report["differences"]} == {"stiffness_nm_rad"}
    hold = {side: kinds["hold"]["median"] for side, kinds in report["errors_mm"].items()}
    assert hold["after"] > 2.0 * hold["before"] > 0.0
    assert report["truth"] == "the simulated arm (plant error 0.15, seed 1)" and report["no_worse"] is False


def test_the_numbers_alone_are_told(folder, capsys):
    assert cli.main(["compare", "shipped", str(folder), "--poses", "0"]) == 0
    out = capsys.readouterr().out
    assert "stiffness_nm_rad" in out and "tip error" not in out


@mark.parametrize(
    "words, code, named",
    [("/nowhere shipped", 4, "no such file: /nowhere"), ("shipped shipped --plant-error 1.5", 5, "plant error is 1.5")],
)
def test_the_command_refuses_in_one_line(words, code, named, capsys):
    assert cli.main(["compare", *words.split()]) == code
    complaints = capsys.readouterr().err.splitlines()
    assert len(complaints) == 1 and named in complaints[0]
