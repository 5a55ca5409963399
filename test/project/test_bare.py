"""Without the packages of any extra every command, and every way to an ``Arm``, ends in one line that names the extra."""

import json
import os
import re
import subprocess

import pytest
from places import ROOT
from waiting import PATIENCE_S, python

from picker_dynamics.commands import cli

MISSING = "cv2", "lz4", "matplotlib", "mcap", "mujoco", "coal", "pinocchio", "PIL", "rclpy", "rich", "rosbags", "zstandard"
EXTRA = r'pip install "picker_dynamics\[\w+\]"'
CODES = 2, 3, 5, 9, 11
"""Words, no such file, input, no arm or board, a missing package."""

LINES = [
    *(f"{name} {words}".strip() for name, (_, words) in cli.COMMANDS.items() if name not in ("up", "firmware", "identify")),
    "calibrate --sim --arm so101",
    "check",
    "doctor --port /dev/nosuch",
    "identify excite --arm rrp",
    "identify servo s.csv",
    "study arduino",
    "view walk.mcap",
    "weigh --simulated",
]
RUN = """
import contextlib, io, json, traceback
from picker_dynamics.commands import cli
found = []
for line in sys.argv[1:]:
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        try:
            code = cli.main(line.split())
        except SystemExit as ended:
            code = ended.code
        except BaseException:
            code = traceback.format_exc()
    found.append((line, code, said.getvalue()))
print(json.dumps(found))
"""


def ended(code: str, folder, *words: str, missing=MISSING) -> subprocess.CompletedProcess:
    without = f"import sys; sys.modules.update(dict.fromkeys({missing!r}))\n"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return python("-c", without + code, *words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)


def test_commands_end_in_one_line_that_names_what_they_lack(tmp_path):
    found = json.loads(ended(RUN, tmp_path, *LINES).stdout)
    assert [line for line, *_ in found] == LINES
    for line, code, said in found:
        assert code in CODES and re.search(r"error: .*\n\Z", said), (line, code, said)
        assert code != 11 or re.search(EXTRA, said), (line, said)
    assert [code for _, code, _ in found].count(11) > 10


def test_up_names_what_its_board_lacks(tmp_path):
    done = ended("from picker_dynamics.sim.board import main; sys.exit(main(['--link', 'x']))", tmp_path)
    assert done.returncode == 11 and re.search(EXTRA, done.stderr + done.stdout) and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize("how", ["simulated()", "open('/dev/nosuch')", "connect()", "offline()", "leader('/dev/nosuch')"])
def test_a_way_to_an_arm_names_what_it_lacks(how, tmp_path):
    done = ended(f"from picker_dynamics import Arm; Arm.{how}", tmp_path)
    assert re.search(EXTRA, done.stderr.splitlines()[-1]), done.stderr


def test_a_simulated_arm_without_the_simulation_names_the_extra(tmp_path):
    done = ended("from picker_dynamics import Arm; Arm.simulated()", tmp_path, missing=("mujoco",))
    assert done.stderr.splitlines()[-1].endswith('MuJoCo: pip install "picker_dynamics[sim]"')
