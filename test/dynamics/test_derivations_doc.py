"""docs/derivations.md in the notes' symbols: its lines are evaluated as they stand, and are right."""

from __future__ import annotations

import re

import numpy as np
from golden import agrees, load_cases
from places import ROOT
from pytest import mark

DOC = (ROOT / "docs" / "derivations.md").read_text(encoding="utf-8")
BLOCKS = dict(zip(("picker", "rrp"), re.findall(r"### In the notes' symbols\n.*?```text\n(.*?)```", DOC, re.S)))

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
