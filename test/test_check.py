"""``picker check``: lint, three readers, two models, and exit codes."""

from __future__ import annotations

import io
import json
import math
import sys

import numpy as np
import pytest
from small_urdfs import TWO_LINKS, broken

from picker_dynamics import check, description, lagrangian
from picker_dynamics.errors import DescriptionError, InputError, MissingDependencyError
from picker_dynamics.resources import resource

pytest.importorskip("pinocchio", reason="picker check compares with Pinocchio")

FEW = 100
"""States per run here: each term is smooth, a wrong number shows in any of them."""

PICKER = "urdf/picker.urdf"


def checked(path, **options):
    """Exit code and printed text."""
    stream = io.StringIO()
    return check.run(path, samples=FEW, stream=stream, **options), stream.getvalue()


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "arm.urdf"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def picker_text():
    return resource(PICKER).read_text(encoding="utf-8")


def test_the_picker_passes_and_every_term_is_reported():
    stream = io.StringIO()
    assert check.run(stream=stream) == 0
    text = stream.getvalue()
    assert "lint: no findings" in text
    table = text.partition("hand-written model and Pinocchio")[2]
    for term in ("M", "C v", "g", "tau", "forward dynamics"):
        (line,) = [line for line in table.splitlines() if line.startswith(f"  {term} ")]
        residual, verdict = line.removeprefix(f"  {term} ").split()
        assert float(residual) <= 1e-9 and verdict == "ok"
    assert "models passed" in text and "note" not in text


def test_json_says_the_same():
    code, text = checked(resource(PICKER), as_json=True)
    report = json.loads(text)
    assert (code, report["passed"], report["limit"]) == (0, True, 1e-9)
    assert report["joints"] == ["base", "shoulder", "elbow", "wrist", "scissor"]
    assert report["findings"] == [] and report["notes"] == []
    terms = [value for comparison in report["comparisons"].values() for value in comparison.values()]
    assert len(terms) >= 13 and report["worst"] == max(terms) <= 1e-9


def test_the_seed_decides_the_states():
    arm = description.load(resource(PICKER))
    first, again, other = (check.check(arm, samples=FEW, seed=seed) for seed in (3, 3, 4))
    assert first.comparisons == again.comparisons
    assert first.comparisons != other.comparisons


@pytest.mark.parametrize("change", [("I1y", 1e-6), ("m3", 1e-6), ("L2", 1e-6)])
def test_a_hand_written_model_with_one_wrong_number_fails(monkeypatch, change):
    """One part in a million in a single parameter: six orders above rounding, and exit code 1."""
    parameter, share = change
    numbers = {"I1y": 'iyy="5.000e-4"', "m3": '<mass value="0.08"/>', "L2": '<origin xyz="0.145 0 0"/>'}
    old = {"I1y": 5e-4, "m3": 0.08, "L2": 0.145}[parameter]
    wrong = numbers[parameter].replace({"I1y": "5.000e-4"}.get(parameter, str(old)), repr(old * (1 + share)))
    other = description.parse(broken((numbers[parameter], wrong), text=picker_text()))
    model = lagrangian.from_description(other)
    monkeypatch.setattr(check.lagrangian, "from_description", lambda arm: model)
    code, text = checked(resource(PICKER))
    assert code == 1
    assert "above 1e-09" in text and "models FAILED" in text


def test_a_finding_is_printed_and_fatal_only_with_strict(write):
    """The hand's pitch inertia as the note prints it; with it the arm can be simulated."""
    path = write(broken(('iyy="4.533e-5"', 'iyy="2.000e-4"'), text=picker_text()))
    code, text = checked(path)
    assert code == 0
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


def test_an_arm_of_another_shape_is_checked_without_the_hand_written_model(write):
    code, text = checked(write(TWO_LINKS))
    assert code == 0
    (note,) = [line for line in text.splitlines() if line.startswith("note")]
    assert "no hand-written model for this arm" in note and "2 joints" in note
    for expected in ("urchin and our reader", "kinetic energy", "models passed"):
        assert expected in text


def random_arm(seed):
    """A tree of 4 to 7 joints of all kinds in any direction, with sound but arbitrary inertias."""
    generator = np.random.default_rng(seed)

    def triple(scale):
        return " ".join(map(repr, generator.uniform(-scale, scale, 3).tolist()))

    parts, count = ['<robot name="random"><link name="l0"/>'], int(generator.integers(4, 8))
    for i in range(1, count + 1):
        parent = f"l{i - 1}" if generator.random() < 0.8 else f"l{generator.integers(0, i)}"
        kind = generator.choice(["revolute", "continuous", "prismatic"], p=[0.5, 0.3, 0.2])
        x, y, z = generator.uniform(
            1e-4, 1e-3, 3
        ).tolist()  # of mass along the axes: any sum of two is a moment
        parts.append(
            f'<joint name="{chr(122 - i)}" type="{kind}"><parent link="{parent}"/><child link="l{i}"/>'
            f'<origin xyz="{triple(0.3)}" rpy="{triple(3.0)}"/><axis xyz="{triple(1.0)}"/>'
            '<limit lower="-1" upper="1.5" velocity="3" effort="100"/></joint>'
            f'<link name="l{i}"><inertial><origin xyz="{triple(0.1)}" rpy="{triple(3.0)}"/>'
            f'<mass value="{generator.uniform(0.1, 2.0)!r}"/>'
            f'<inertia ixx="{y + z!r}" ixy="0" ixz="0" iyy="{x + z!r}" iyz="0" izz="{x + y!r}"/>'
            "</inertial></link>"
        )
    return "".join(parts) + "</robot>"


@pytest.mark.parametrize("seed", range(8))
def test_readers_and_algorithms_agree_on_random_arms(write, seed):
    code, text = checked(write(random_arm(seed)))
    assert code == 0, text


def test_a_planar_arm_without_weight_to_lift_passes(write):
    """All axes vertical: g and the potential energy are rounding around zero, which is no disagreement."""
    text = broken(
        ('<axis xyz="0 -1 0"/>', '<axis xyz="0 0 1"/>'), ('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0 0"/>')
    )
    code, printed = checked(write(text))
    assert code == 0, printed


def test_a_malformed_urdf_is_an_error_not_a_verdict(write):
    with pytest.raises(DescriptionError, match="link arm: <mass> value is -0.4") as caught:
        checked(write(broken(('value="0.4"', 'value="-0.4"'))))
    assert caught.value.exit_code == 3


def test_without_urchin_the_rest_is_still_checked(monkeypatch):
    monkeypatch.setitem(sys.modules, "urchin", None)
    code, text = checked(resource(PICKER))
    assert code == 0
    assert "note: not compared with urchin: urchin is not installed" in text
    assert "hand-written model and Pinocchio" in text


def test_what_urchin_cannot_read_is_noted(monkeypatch):
    def refuse(*_):
        raise DescriptionError("urchin cannot read this URDF: no colour")

    monkeypatch.setattr(check, "compare_with_urchin", refuse)
    code, text = checked(resource(PICKER))
    assert code == 0
    assert "note: not compared with urchin: urchin cannot read this URDF: no colour" in text


def test_without_pinocchio_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "picker_dynamics.rigid_body", None)
    with pytest.raises(MissingDependencyError, match="pip install pin"):
        checked(resource(PICKER))


def test_no_samples_is_refused():
    with pytest.raises(InputError, match="samples is 0, must be >= 1"):
        check.run(samples=0)


def test_a_residual_that_is_no_number_fails():
    report = check.CheckReport("text", "arm", (), (), {"a": {"M": math.nan, "g": 0.0}}, ())
    assert report.worst == math.inf and not report.passed(strict=False)
    assert json.loads(check.as_json_text(report, strict=False))["comparisons"]["a"]["M"] is None
    assert "above 1e-09" in check.as_text(report, strict=False)
