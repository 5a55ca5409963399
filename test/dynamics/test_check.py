"""``picker check`` and the cross-check: lint, two readers, two models; every kind of difference is found and named."""

import contextlib
import io
import json
import math

import pytest
from arm_fixtures import picker
from dynamics_models import ARMATURE
from small_urdfs import TOOL_ON_THE_BASE, broken

from picker_dynamics.dynamics import check, lagrangian
from picker_dynamics.dynamics.cross_check import UNITS, compare
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import CrossCheckError
from picker_dynamics.resources import resource
from picker_dynamics.robot import description

MOMENTS = ("ixx", "5e-6"), ("iyy", "8.6e-5"), ("izz", "8.6e-5")
FEW = 50
"""States per run here: each term is smooth, a wrong number shows in any of them."""

PICKER = resource("urdf/picker.urdf")
ARM = picker()


def checked(path, **options):
    """Exit code and printed text."""
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        code = check.run(path, samples=FEW, **options)
    return code, stream.getvalue()


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


def test_the_picker_passes_and_every_term_is_reported():
    text = checked(PICKER, verbose=True)[1]
    assert text.startswith("passed: ") and "tip: tool0, by its name" in text
    assert "lint: no findings" in text and "models passed" in text and "note" not in text
    tables = text.partition("N-joint chain and Pinocchio")[2].split("closed form (picker) and Pinocchio")
    assert len(tables) == 2
    for table in tables:
        for term in UNITS:
            (line,) = [line for line in table.splitlines() if line.startswith(f"  {term} ")]
            residual, verdict = line.removeprefix(f"  {term} ").split()
            assert float(residual) <= 1e-9 and verdict == "ok"
    code, text = checked(PICKER, as_json=True)
    report = json.loads(text)
    assert (code, report["passed"], report["limit"], report["findings"], report["notes"]) == (0, True, 1e-9, [], [])
    assert report["joints"] == ["base", "shoulder", "elbow", "wrist", "scissor"]
    terms = [value for comparison in report["comparisons"].values() for value in comparison.values()]
    assert len(terms) >= 9 and report["worst"] == max(terms) <= 1e-9


@pytest.mark.parametrize(
    "old, new", [('iyy="5.000e-4"', 'iyy="5.000005e-4"'), ('<origin xyz="0.145 0 0"/>', '<origin xyz="0.1450001 0 0"/>')]
)
def test_a_hand_written_model_with_one_wrong_number_fails(monkeypatch, old, new):
    """One part in a million in a single parameter: six orders above rounding, and exit code 1."""
    other = description.parse(broken((old, new), text=PICKER.read_text(encoding="utf-8")))
    for builder in ("analytic_model", "ChainModel"):
        with monkeypatch.context() as patched:
            model = getattr(lagrangian, builder)(other)
            patched.setattr(check.lagrangian, builder, lambda arm, model=model: model)
            code, text = checked(PICKER)
        assert code == 1 and "above 1e-09" in text and "models FAILED" in text


def test_a_finding_is_printed_and_fatal_only_with_strict(write):
    """The hand's pitch inertia as the note prints it; with it the arm can be simulated."""
    path = write(broken(('iyy="4.533e-5"', 'iyy="2.000e-4"'), text=PICKER.read_text(encoding="utf-8")))
    assert "  link hand: inertia" in passed(path)
    code, text = checked(path, strict=True)
    assert code == 1 and "FATAL link hand: inertia" in text and "lint FAILED" in text and text.startswith("FAILED: ")


@pytest.mark.parametrize("name", sorted(path.name for path in PICKER.parent.glob("*.urdf")))
def test_every_urdf_of_the_package_passes(name):
    passed(resource(f"urdf/{name}"))


TURNTABLE = """<robot name="turntable"><link name="base"/><link name="plate"><inertial><mass value="1"/>
    <inertia ixx="1e-2" ixy="0" ixz="0" iyy="1e-2" iyz="0" izz="2e-2"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="plate"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize(
    "text, code, said",
    [
        (TURNTABLE, 0, "models passed"),  # of which nearly every term vanishes
        (broken(('effort="20"/>', 'effort="20"/><mimic joint="lift"/>')), 0, "mimic of joint slide is lift: it is treated"),
        (TOOL_ON_THE_BASE, 0, "note: compared without a payload: no joint moves the tool tool0"),
        (broken(('velocity="5"', 'velocity="0"'), ('velocity="0.2"', 'velocity="0"')), 0, "velocity limit of joint lift is 0"),
        (
            broken(('<mass value="0.1"/>', '<mass value="0"/>'), *((f'{a}="{b}"', f'{a}="0"') for a, b in MOMENTS)),
            1,
            "no model was built",
        ),
    ],
    ids=["turntable", "mimic", "tool on the base", "zero velocity", "no mass"],
)
def test_any_fixed_base_arm_is_compared(write, text, code, said):
    printed = checked(write(text))
    assert printed[0] == code and said in printed[1] and ("models passed" in printed[1]) == (code == 0)


def test_the_tip_is_named_and_how_it_was_chosen_and_terms_are_listed_on_demand(write):
    text = passed(write(TURNTABLE))
    assert "tip: plate, the end that most joints move; a link tool0 on a fixed joint would be the tip" in text
    assert "forward dynamics" not in text


# -- the cross-check of every start ----------------------------------------------------------------------------------


def analytic_model(text: str = ARM.urdf):
    return lagrangian.from_description(description.parse(text), ARMATURE)


def compared(ours=None, theirs=None, samples=20, **options):
    """Our model of the picker, or the one given, against Pinocchio's."""
    return compare(ours or analytic_model(), theirs or RigidBody(ARM, ARMATURE), ARM, samples=samples, **options)


def test_the_picker_agrees_with_payload_rotors_and_friction():
    friction = ARM.urdf.replace('damping="0" friction="0"', 'damping="0.02" friction="0.01"')
    assert friction != ARM.urdf
    theirs = RigidBody(description.parse(friction), ARMATURE)
    report = compared(analytic_model(friction), theirs, samples=300, payload=0.025)
    assert list(report.residuals) == list(UNITS) and report.worst <= 1e-12
    report.require()


def test_nan_is_no_agreement():
    class Broken(RigidBody):
        def gravity(self, q):
            g = super().gravity(q)
            g[7, 2] = math.nan
            return g

    for pair in ((Broken(ARM, ARMATURE), None), (None, Broken(ARM, ARMATURE))):
        report = compared(*pair)
        assert math.isnan(report.residuals["g"]) and math.isnan(report.worst)
        with pytest.raises(CrossCheckError, match="disagree in g of elbow: .*nan"):
            report.require()
