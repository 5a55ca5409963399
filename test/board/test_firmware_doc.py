"""docs/firmware.md says what the code does."""

import re
import shlex

import yaml
from arm_fixtures import servos
from firmware_tools import FAULT_ROWS, doc_rows, doc_section
from places import ROOT

from picker_dynamics.board.firmware.header import TIMER_CHANNELS, TIMER_FIRST_PIN
from picker_dynamics.commands import cli

DOC = (ROOT / "docs" / "firmware.md").read_text()


def test_the_fault_table():
    assert [row[:4] for row in doc_rows(DOC, "Faults")] == FAULT_ROWS


def test_channels_and_pins():
    shipped = servos(simulated=False)
    listed = ", ".join(f"{servo.joint} {servo.channel}" for servo in shipped.servos)
    assert listed in " ".join(doc_section(DOC, "Wiring").split())
    last = TIMER_CHANNELS - 1
    assert f"0 … {last} are D{TIMER_FIRST_PIN} … D{TIMER_FIRST_PIN + last}" in doc_section(DOC, "The timer back end")


def test_its_pieces_of_a_servo_map_can_be_used(tmp_path):
    pieces = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", DOC, re.S)]
    overlay = {"board": {}, "joints": {}}
    for piece in pieces:
        for key, entries in piece.items():
            overlay[key].update(entries)
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(overlay))
    arm = servos(overlay=tmp_path / "overlay.yaml")
    assert (arm.supply.adc, arm.supply.divider, arm.servos[1].feedback_adc, arm.oscillator_hz) == (3, 2.0, 0, 25_731_000)


def test_its_commands_exist():
    known = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    lines = "\n".join(re.findall(r"```bash\n(.*?)```", DOC, re.S)).splitlines()
    commands = [words for line in lines if (words := shlex.split(line, comments=True))]
    pickers = [words[1:] for words in commands if words[0] == "picker"]
    for words in pickers:
        assert callable(cli.parser().parse_args(words).run)
    assert {words[1] for words in commands if words[0] == "make"} | {"demo", "test", "fuzz", "apt"} <= known
    assert len(pickers) == 5
