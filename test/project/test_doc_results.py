"""Code in README.md and docs/ is Python, and what a document prints below it is what it prints."""

import re
from textwrap import dedent

import numpy as np
import pytest
from places import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```python\n(.*?)^ *```\n(?:\n```text\n(.*?)^```)?", re.M | re.S)
BLOCKS = {
    f"{path.name}:{text[: found.start()].count(chr(10)) + 1}": (dedent(found[2]), found[3])
    for path in DOCUMENTS
    for text in [path.read_text(encoding="utf-8")]
    for found in BLOCK.finditer(text)
}
PRINTED = [name for name, (_, said) in BLOCKS.items() if said]
NUMBER = r"-?\d+\.?\d*"


@pytest.mark.parametrize("name", PRINTED)
def test_what_code_prints_is_what_stands_below_it(name, capsys):
    code, told = BLOCKS[name]
    with np.printoptions():
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert re.sub(rf"{NUMBER}|\s", "", said) == re.sub(rf"{NUMBER}|\s", "", told)
    # the last digit may be rounded otherwise elsewhere, and a zero may be -0
    assert [float(one) for one in re.findall(NUMBER, said)] == pytest.approx(
        [float(one) for one in re.findall(NUMBER, told)], rel=0.0, abs=1.01e-4
    )


@pytest.mark.parametrize("name", BLOCKS)
def test_code_is_python(name):
    compile(BLOCKS[name][0], name, "exec")


def test_no_code_stands_where_it_is_not_looked_at():
    assert len(PRINTED) >= 2
    for path in DOCUMENTS:
        rest = BLOCK.sub("", path.read_text(encoding="utf-8"))
        assert not re.search(r"^ *(>>> |from picker_dynamics|[\w, ]+ = (lagrangian|Arm|arm)\.)", rest, re.M), path.name
