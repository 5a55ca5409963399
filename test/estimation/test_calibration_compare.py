"""``picker compare``: which numbers differ, what they are worth on an arm with hidden errors, and on a ruler."""

import io
import json
import sys

import numpy as np
from arm_fixtures import picker, servos
from pytest import approx, fixture, mark, raises

from picker_dynamics.commands import cli
from picker_dynamics.errors import ConfigurationError, InputError, JointNamesError
from picker_dynamics.estimation.calibration import compare, evaluate
from picker_dynamics.resources import resource

URDF, SIM = str(resource("urdf/picker.urdf")), str(resource("config/servos.sim.yaml"))


@fixture
def folder(tmp_path):
    """What a calibration might have written: a heavier forearm, a stiffer shoulder."""
    made = tmp_path / "calibrated"
    made.mkdir()
    (made / "arm.urdf").write_text(picker().urdf.replace('<mass value="0.12"/>', '<mass value="0.132"/>'))
    (made / "servos.calibrated.yaml").write_text("joints:\n  shoulder: {stiffness_nm_rad: 12.5, zero_deg: -66.0}\n")
    (made / "report.json").write_text('{"tip_uncertainty_95_mm": 1.13}')
    return made


# -- numbers -------------------------------------------------------------------------------------------


def test_only_what_differs_is_listed(folder):
    before, after = compare.load(compare.SHIPPED), compare.load(str(folder))
    found = {(one.where, one.figure): one for one in compare.differences(before, after)}
    assert set(found) == {("shoulder", "stiffness_nm_rad"), ("shoulder", "zero_deg"), ("forearm", "mass_kg")}
    assert found["shoulder", "stiffness_nm_rad"].percent == approx(-50.0)
    assert found["forearm", "mass_kg"].percent == approx(10.0)
    zero = found["shoulder", "zero_deg"]
    assert (zero.before, zero.after) == approx((-65.0, -66.0)) and zero.percent is None
    assert (before.tip_mm, after.tip_mm) == (None, 1.13)
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


def test_a_folder_has_to_be_whole(folder):
    (folder / "report.json").write_text("{")
    with raises(ConfigurationError, match="cannot read .*report.json"):
        compare.load(str(folder))
    (folder / "servos.calibrated.yaml").unlink()
    with raises(ConfigurationError, match=r"no such file: .*servos\.calibrated\.yaml"):
        compare.load(str(folder))


def test_other_arms_are_not_compared(folder, tmp_path):
    other, servos = tmp_path / "renamed.urdf", tmp_path / "servos.yaml"
    for what, old, new in (("links", "hand", "fist"), ("joints", "wrist", "knuckle")):
        other.write_text(picker().urdf.replace(f'"{old}"', f'"{new}"'))
        servos.write_text(resource("config/servos.yaml").read_text().replace(f"  {old}:", f"  {new}:"))
        with raises(JointNamesError, match=f"shipped has the {what} base.* has base.*{new}.* not the same arm"):
            compare.differences(compare.load(compare.SHIPPED), compare.load(str(other), str(servos)))


# -- what they are worth -------------------------------------------------------------------------------


def test_what_counts_as_no_worse():
    def worth(before, after):
        return evaluate.TipErrorReport(*(evaluate.Errors(1e-3 * np.array(one), 1e-3 * np.array(one)) for one in (before, after)))

    assert worth([5.0, 6.0, 7.0], [1.0, 2.0, 9.0]).no_worse
    assert worth([1.0], [1.05]).no_worse and not worth([1.0], [1.2]).no_worse
    assert worth([5.0, 6.0, 7.0], [1.0, 2.0, 9.0]).summary()["after"]["hold"] == approx({"median": 2.0, "max": 9.0})


# -- on a ruler ----------------------------------------------------------------------------------------


def test_pairs_on_a_ruler_have_an_interval_that_contains_the_truth():
    rng, inside, rounds = np.random.default_rng(0), 0, 150
    for _ in range(rounds):
        true = rng.uniform(6.0, 12.0, 5)
        found = compare.ruler_report(
            [(max(0.0, a + rng.normal(0.0, 0.5)), max(0.0, a - 5.0 + rng.normal(0.0, 0.5))) for a in true]
        )
        inside += found.interval_mm[0] <= 5.0 <= found.interval_mm[1]
        assert found.no_worse and found.interval_mm[0] > 0.0
    assert inside >= 0.94 * rounds
    assert not compare.ruler_report([(1.0, 9.0), (2.0, 8.0), (1.0, 11.0)]).no_worse
    same = compare.ruler_report([(1.0, 1.5), (2.0, 1.5), (1.0, 1.0)])
    assert same.no_worse and not same.interval_mm[0] > 0.0


@mark.parametrize(
    "pairs, named",
    [
        ([(1.0, 2.0)], "1 pairs of ruler readings, must be at least 3"),
        ([(1.0, -2.0)] * 3, "ruler, pose 1 after: -2 mm, must be 0 to 300"),
        ([(1.0, 2.0), (1.0, 2.0), (1200.0, 2.0)], "ruler, pose 3 before: 1200 mm"),
        ([(float("nan"), 2.0)] * 3, "ruler, pose 1 before: nan mm"),
    ],
)
def test_ruler_readings_that_cannot_be(pairs, named):
    with raises(InputError, match=named):
        compare.ruler_report(pairs)


# -- the command ---------------------------------------------------------------------------------------


def test_the_command_says_what_better_numbers_are_worth_and_fails_where_they_are_worse(few_poses, capsys, tmp_path):
    figure, better = tmp_path / "errors.png", f"{URDF},{SIM}"
    words = ["--plant-error", "0.15", "--json", "--ruler", "12,2", "9.5,3", "11,1.5", "--figure", str(figure)]
    assert cli.main(["compare", "shipped", better, *words]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {one["figure"] for one in report["differences"]} == {"stiffness_nm_rad"}
    hold = {side: kinds["hold"]["median"] for side, kinds in report["errors_mm"].items()}
    assert hold["before"] > 2.0 * hold["after"] > 2.0 * hold["floor"] > 0.0
    assert report["truth"] == "the simulated arm (plant error 0.15, seed 1)" and report["no_worse"] is True
    assert report["ruler"]["nearer_mm"] == approx(8.67, abs=0.01) and figure.stat().st_size > 1000
    assert cli.main(["compare", better, "shipped", "--poses", "0", "--ruler", "2,12", "3,9.5", "1.5,11"]) == 1
    out = capsys.readouterr().out
    assert "after is WORSE than before" in out and "stiffness_nm_rad" in out


@mark.parametrize(
    "words, code, named",
    [
        ("/nowhere shipped", 4, "no such file: /nowhere"),
        ("shipped shipped --plant-error 1.5", 5, "plant error is 1.5"),
        ("shipped shipped --ruler 12", 5, "--ruler '12': must be BEFORE,AFTER in millimetres"),
    ],
)
def test_the_command_refuses_in_one_line(words, code, named, capsys):
    assert cli.main(["compare", *words.split()]) == code
    complaints = capsys.readouterr().err.splitlines()
    assert len(complaints) == 1 and named in complaints[0]


def test_a_person_is_asked_pose_by_pose(folder, capsys, monkeypatch):
    typed = io.StringIO("".join(f"{mm} mm\n" for mm in (12, 9, 10, 11, 8)) + "2\n1,5\n1\n2.5\n1\n")
    monkeypatch.setattr(sys, "stdin", typed)
    assert cli.main(["compare", "shipped", str(folder), "--poses", "0", "--ruler"]) == 0
    out = capsys.readouterr().out
    assert out.count("picker move --joints base=") == 10 and "nearer than before (95 %:" in out
    assert "after: its readings state the tip within 1.1 mm (95 %)" in out
    monkeypatch.setattr(sys, "stdin", io.StringIO("far\n"))
    assert cli.main(["compare", "shipped", str(folder), "--poses", "0", "--ruler"]) == 5
    assert "a distance in millimetres was expected" in capsys.readouterr().err
