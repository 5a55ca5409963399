"""README.md: the commands of its first screens do in their order what it says of them."""

import re
import shlex

import pytest
from places import ROOT
from served_arm import Served

README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = next(block for block in re.findall(r"```bash\n(.*?)```", README, re.S) if "picker status" in block)
PYTHON = re.search(r"```python\n(.*?)```", README, re.S)[1]


@pytest.mark.long
def test_the_script_does_what_its_comments_say(capsys):
    pytest.importorskip("mujoco", reason="the simulation is an extra")
    exec(compile(PYTHON, "README.md", "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert re.search(r"refused: shoulder needs \d\.\d+ N·m", said), said


@pytest.mark.long
def test_who_plays_with_the_simulated_arm_sees_what_is_said(run_picker):
    rows = [(shlex.split(row, comments=True)[1:], "refused, with the reason" in row) for row in FIRST.splitlines()]
    assert [refused for _, refused in rows].count(True) == 1
    with Served():
        for words, refused in rows:
            if refused:
                code, _, complaints = run_picker(*words)
                assert code == 6 and re.search(r"shoulder needs \d\.\d+ N·m to hold its pose", complaints), complaints
            else:
                code, _, complaints = run_picker(*words)
                assert code == 0, (words, complaints)
