"""``picker check``: lint, two readers, two models, and exit codes."""

from __future__ import annotations

import io
import json
import math

import pytest
from small_urdfs import TOOL_ON_THE_BASE, broken, random_arm

from picker_dynamics.dynamics import check, lagrangian
from picker_dynamics.resources import resource
from picker_dynamics.robot import description

pytest.importorskip("pinocchio", reason="picker check compares with Pinocchio")

FEW = 100
"""States per run here: each term is smooth, a wrong number shows in any of them."""

PICKER = resource("urdf/picker.urdf")


def checked(path, **options):
    """Exit code and printed text."""
    stream = io.StringIO()
    return check.run(path, samples=FEW, stream=stream, **options), stream.getvalue()


def passed(path=PICKER) -> str:
    """The printed text of a check without fault."""
    code, text = checked(path)
    assert code == 0, text
    return text


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "arm.urdf"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def picker_text():
    return PICKER.read_text(encoding="utf-8")


def test_the_picker_passes_and_every_term_is_reported():
    stream = io.StringIO()
    assert check.run(stream=stream) == 0
    text = stream.getvalue()
    assert "lint: no findings" in text
    tables = text.partition("N-joint chain and Pinocchio")[2].split("closed form (picker) and Pinocchio")
    assert len(tables) == 2
    for table in tables:
        for term in ("M", "C v", "g", "tau", "forward dynamics", "tool", "J"):
            (line,) = [line for line in table.splitlines() if line.startswith(f"  {term} ")]
            residual, verdict = line.removeprefix(f"  {term} ").split()
            assert float(residual) <= 1e-9 and verdict == "ok"
    assert "models passed" in text and "note" not in text


def test_json_says_the_same():
    code, text = checked(PICKER, as_json=True)
    report = json.loads(text)
    assert (code, report["passed"], report["limit"]) == (0, True, 1e-9)
    assert report["joints"] == ["base", "shoulder", "elbow", "wrist", "scissor"]
    assert report["findings"] == [] and report["notes"] == []
    terms = [value for comparison in report["comparisons"].values() for value in comparison.values()]
    assert len(terms) >= 9 and report["worst"] == max(terms) <= 1e-9


@pytest.mark.parametrize("change", [("I1y", 1e-6), ("m3", 1e-6), ("L2", 1e-6)])
def test_a_hand_written_model_with_one_wrong_number_fails(monkeypatch, change):
    """One part in a million in a single parameter: six orders above rounding, and exit code 1."""
    parameter, share = change
    numbers = {"I1y": 'iyy="5.000e-4"', "m3": '<mass value="0.08"/>', "L2": '<origin xyz="0.145 0 0"/>'}
    old = {"I1y": 5e-4, "m3": 0.08, "L2": 0.145}[parameter]
    wrong = numbers[parameter].replace({"I1y": "5.000e-4"}.get(parameter, str(old)), repr(old * (1 + share)))
    other = description.parse(broken((numbers[parameter], wrong), text=picker_text()))
    for builder in ("analytic_model", "chain_of"):
        with monkeypatch.context() as patched:
            model = getattr(lagrangian, builder)(other)
            patched.setattr(check.lagrangian, builder, lambda arm, model=model: model)
            code, text = checked(PICKER)
        assert code == 1
        assert "above 1e-09" in text and "models FAILED" in text


def test_a_finding_is_printed_and_fatal_only_with_strict(write):
    """The hand's pitch inertia as the note prints it; with it the arm can be simulated."""
    path = write(broken(('iyy="4.533e-5"', 'iyy="2.000e-4"'), text=picker_text()))
    text = passed(path)
    assert "lint: 1 finding\n" in text or "findings" in text
    assert "  link hand: inertia" in text and "models passed" in text
    code, text = checked(path, strict=True)
    assert code == 1
    assert "FATAL link hand: inertia" in text and "lint FAILED" in text


def test_without_mass_nothing_can_be_simulated(write):
    weightless = broken(
        ('<mass value="0.05"/>', '<mass value="0"/>'),
        (
            '<inertia ixx="6.000e-6" ixy="0" ixz="0" iyy="6.000e-6" iyz="0" izz="1.000e-5"/>',
            '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>',
        ),
        text=picker_text(),
    )
    path = write(weightless)
    code, text = checked(path)
    assert code == 1
    assert "FATAL link scissor: mass driven by joint scissor is 0 kg" in text
    assert "no model was built" in text and "models" not in text.replace("no model was", "")
    code, text = checked(path, as_json=True)
    assert (code, json.loads(text)["passed"]) == (1, False)


@pytest.mark.parametrize("seed", range(8))
def test_readers_and_models_agree_on_random_arms(write, seed):
    passed(write(random_arm(seed, branching=0.1 * seed)))


@pytest.mark.parametrize("name", sorted(path.name for path in PICKER.parent.glob("*.urdf")))
def test_every_urdf_of_the_package_passes(name):
    passed(resource(f"urdf/{name}"))


ARM_ON_A_STAND = broken(
    (
        '<robot name="two">',
        '<robot name="two"><link name="world"/><joint name="stand" type="fixed"><parent link="world"/>'
        '<child link="base_link"/><origin xyz="0 0 1"/></joint>',
    ),
    (
        '<link name="base_link"/>',
        '<link name="base_link"><inertial><origin xyz="0.1 0 0.2"/><mass value="3"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>',
    ),
)
MIMICKING = broken(('effort="20"/>', 'effort="20"/><mimic joint="lift" multiplier="0.1"/>'))
WITH_MESHES = broken(
    ('<box size="0.2 0.03 0.03"/>', '<mesh filename="package://nowhere/arm.dae"/>'),
    ('<box size="0.2 0.03 0.03"/>', '<mesh filename="no_such_file.stl" scale="0.001 0.001 0.001"/>'),
)
NEVER_MOVES_BUT_MAY = broken(('velocity="5"', 'velocity="0"'), ('velocity="0.2"', 'velocity="0"'))
GANTRY = broken(('type="revolute"', 'type="prismatic"'), ('<axis xyz="0 -1 0"/>', '<axis xyz="0 0 1"/>'))


@pytest.mark.parametrize(
    "text, said",
    [
        (broken(('type="revolute"', 'type="continuous"')), "2 joints: lift slide"),
        (ARM_ON_A_STAND, "lint: no findings"),
        (MIMICKING, "mimic of joint slide is lift: it is treated as a joint of its own"),
        (WITH_MESHES, "lint: no findings"),
        (TOOL_ON_THE_BASE, "note: compared without a payload: no joint moves the tool tool0"),
        (NEVER_MOVES_BUT_MAY, "velocity limit of joint lift is 0"),
        (GANTRY, "models passed"),
    ],
    ids=["continuous", "stand", "mimic", "meshes", "tool on the base", "zero velocity", "gantry"],
)
def test_any_fixed_base_arm_is_compared(write, text, said):
    printed = passed(write(text))
    assert said in printed and "N-joint chain and Pinocchio" in printed


def test_a_residual_that_is_no_number_fails():
    report = check.CheckReport("text", "arm", (), (), {"a": {"M": math.nan, "g": 0.0}}, ())
    assert report.worst == math.inf and not report.passed(strict=False)
    assert json.loads(check.as_json_text(report, strict=False))["comparisons"]["a"]["M"] is None
    assert "above 1e-09" in check.as_text(report, strict=False)
