"""docs/derivations*.md in the notes' symbols: its lines are evaluated as they stand, and are right."""

import re

import numpy as np
from golden import agrees, load_cases
from numpy.testing import assert_allclose
from places import ROOT
from pytest import approx, mark

from picker_dynamics.commands import cli
from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian.systems import rrp, two_link

PAGES = [ROOT / "docs" / f"derivations{part}.md" for part in ("", "_picker", "_arms", "_small", "_chain")]
DOC = "".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCKS = dict(zip(("picker", "rrp"), re.findall(r"## In the notes' symbols\n.*?```text\n(.*?)```", DOC, re.S)))

PLAIN = str.maketrans("₀₁₂₃₄−", "01234-")
DOT = "\u0307"


def python(text: str) -> str:
    """An expression in the notes' notation as Python: ``cos²(θ₁)·θ̇₀²`` is ``cos(th1)**2*dth0**2``."""
    text = re.sub(r"(sin|cos)²\(([^()]*)\)", r"(\1(\2)**2)", text.translate(PLAIN).replace("ḋ", f"d{DOT}"))
    text = re.sub(rf"(θ|d){DOT}", r"v\1", text).replace("θ", "th")
    return text.replace("½", "0.5").replace("²", "**2").replace("·", "*")


def evaluated(system: str, case: dict) -> dict[str, float]:
    """Every name that the system's lines define, at the state of a golden case."""
    names = {"sin": np.sin, "cos": np.cos} | case["params"]
    first = 0 if system == "picker" else 1
    for i, (q, v) in enumerate(zip(case["q"], case["qd"]), start=first):
        names |= {f"th{i}": q, f"vth{i}": v}
    if system == "picker":
        names["m4"] = names["m4"] + names["m_p"]
    else:
        names |= {"d3": case["q"][2], "vd3": case["qd"][2]}
    for line in re.split(r"\n(?=\S)", BLOCKS[system].strip()):
        name, expression = line.split(" = ", 1)
        names[name.translate(PLAIN)] = eval(python(" ".join(expression.split())), {"__builtins__": {}}, names)
    return names


@mark.parametrize("case", load_cases()["picker"], ids=range(4))
def test_the_pickers_lines(case):
    of = evaluated("picker", case)
    agrees([of[f"G{i}"] for i in range(5)], case["G"])
    agrees([of[f"c{i}"] for i in range(5)], case["Cqd"])
    agrees(sum(of[f"K{i}"] for i in (1, 2, 3, 4)) + 0.5 * of["I0z"] * case["qd"][0] ** 2, case["T"])
    agrees(sum(of[f"P{i}"] for i in (1, 2, 3, 4)), case["V"])
    M = np.zeros((5, 5))
    for name, value in of.items():
        if re.fullmatch(r"M\d\d", name):
            i, j = map(int, name[1:])
            M[i, j] = M[j, i] = value
    agrees(M, case["M"])


@mark.parametrize("case", load_cases()["rrp"], ids=range(4))
def test_the_rrp_arms_lines(case):
    of = evaluated("rrp", case)
    agrees([[of["H11"], 0, 0], [0, of["H22"], of["H23"]], [0, of["H23"], of["H33"]]], case["M"])
    agrees([[of[f"C{i}{j}"] for j in (1, 2, 3)] for i in (1, 2, 3)], case["C"])
    agrees([of[f"G{i}"] for i in (1, 2, 3)], case["G"])


@mark.parametrize(
    "symbol", ["G₁", "G₂", "G₃", "G₄", "c₀", "c₄", "K₁", "K₂", "K₃", "K₄", "P₁", "P₄", "M₀₀", "M₁₂", "H₁₁", "H₂₃", "C₁₁"]
)
def test_a_search_for_a_symbol_of_the_notes_ends_at_its_equation(symbol):
    assert re.search(rf"^{symbol} = ", DOC, re.M)


@mark.parametrize("row", re.findall(r"^\| (`[a-z]+_\w+`|`main`|`compute.*?) \| (`.*?) \| ", DOC, re.M), ids=lambda row: row[0])
def test_a_function_of_the_notes_is_the_one_that_stands_beside_it(row):
    name, here = row
    arm = lagrangian.make("picker" if "compute" in name else "rrp")
    state = dict(zip(("q", "v", "a", "tau"), np.random.default_rng(0).uniform(0.2, 1.0, (4, arm.n))))
    x = arm.forward_kinematics(state["q"])
    for code in re.findall(r"`(.*?)`", here):
        if code.startswith("picker "):
            cli.parser().parse_args(code.split()[1:])
            continue
        found = eval(code, {"__builtins__": {}}, state | {"arm": arm, "rrp": rrp, "x": x})
        assert np.isfinite(found).all() and found.shape[-1] in (3, arm.n)
        if name == "`inverse_kin`":
            assert_allclose(arm.forward_kinematics(found), x, atol=1e-12)  # one of four


def test_every_function_of_the_notes_is_named():
    for name in ("dynamics_mat", "tau_plan", "state_eq", "forward_kin", "inverse_kin", "jacobian_mat", "main"):
        assert re.search(rf"^\| `{name}` \| `", DOC, re.M), name


def test_the_two_link_arm_with_the_notes_sign_drifts_as_it_says():
    """The parts of the column of theta3 beside the derivatives of torques: as they are, and with the note's sign."""
    given = re.search(r'make\("two_link", (.*?)\)\n.*?q=(.*?), v=(.*?), tau=(.*?)\)\n', DOC)
    arm = lagrangian.make("two_link", **eval(f"dict({given[1]})"))
    q, v, tau = (np.array(eval(given[k])) for k in (2, 3, 4))
    JA, JB, C, D = two_link.inertias(arm.constants, q)
    GH, scale = arm.mass_matrix(q) @ arm.forward_dynamics(q, v, tau), D / (JA * JB - C * C) ** 2
    off, printed_off = JA * JB - 2 * JB * C + C * C, JA * JB + 2 * JB * C + C * C
    right = scale * np.array([[2 * JB * (JB - C), off], [off, -2 * C * (JA - C)]]) @ GH
    printed = scale * np.array([[-2 * JB * (JB + C), printed_off], [printed_off, -2 * (2 * JA * JB + JA * C - C * C)]]) @ GH
    column = lagrangian.linearise(arm, q, v, tau)[0][2:, 1]
    said = re.search(r"The column of θ3 contains .*?\.\n\n", DOC, re.S)[0].replace("−", "-")
    told = [float(number) for number in re.findall(r"-?\d+\.\d{3}", said)]
    assert told == approx([*right, *printed, *(column - right + printed), *column], abs=5.1e-4)
