"""``picker doctor`` on boards behind a pseudo-terminal: what it says, what it moves, how it leaves."""

import json
import signal
import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import replace
from functools import partial
from pathlib import Path

from arm_fixtures import servos
from board_on_pty import BoardOnPty, speaker
from pytest import fixture, mark, raises
from waiting import run, until

from picker_dynamics.board import doctor_session
from picker_dynamics.board.protocol import JointLimits, framing, pulse_units
from picker_dynamics.commands import doctor
from picker_dynamics.errors import InputError
from picker_dynamics.sim.simulated_board import firmware_config

SERVOS = servos(simulated=False)
CONFIG = firmware_config(SERVOS)
START = tuple(pulse_units(pulse) for pulse in SERVOS.to_pulse_us(SERVOS.rest))
START_US = tuple(pulse / 8 for pulse in START)
PICKER = str(Path(sys.executable).with_name("picker"))


@fixture
def picker(run_picker, monkeypatch):
    """Run ``picker doctor`` in this process, watching the wire but briefly: (exit code, output, complaints)."""
    monkeypatch.setattr(doctor, "WATCH_S", 0.3)
    return partial(run_picker, "doctor")


def asked(port: str, answer: str, *words: str) -> int:
    """The same, with a person who types ``answer``."""
    commands = ArgumentParser().add_subparsers()
    doctor.add_parser(commands)
    options = commands.choices["doctor"].parse_args(["--port", port, *words])
    return doctor.run(options, ask=lambda _prompt: answer)


@fixture
def live():
    """One whose outputs run."""
    with BoardOnPty(CONFIG, found_us=START_US) as board:
        yield board


def checks(*names: str) -> list[str]:
    return [word for name in names for word in ("--check", name)]


QUICK = checks("ping-is-acknowledged", "stop-is-latched-and-reset-clears-it")


# -- what it says --------------------------------------------------------------------------------------


def test_a_sound_board_passes_everything_that_moves_nothing():
    with BoardOnPty(CONFIG, boot_id=41) as board:
        done = run(PICKER, "doctor", "--port", board.port, "--json", timeout=100)
        found = json.loads(done.stdout)
        assert done.returncode == 0, done.stderr
        assert (board.firmware.live, board.firmware.faults) == (0, 0)
    assert found["passed"] and found["limits"]["match"] and found["left_as_found"] is None
    assert (found["firmware_version"], found["protocol_version"], found["boot_id"]) == ("0.2.0", 2, 41)
    assert found["joint_names"] == ["base", "shoulder", "elbow", "wrist", "scissor"]
    assert found["link"]["damaged"] == found["link"]["missed"] == 0 and found["link"]["frames"] > 100
    assert 0.0 < found["link"]["round_trip_median_ms"] < 1000.0
    status = [one["status"] for one in found["checks"]]
    assert status.count("passed") == 11 and "FAILED" not in status
    assert "board on" in done.stderr and done.stderr.endswith("checks: 11 passed, 6 skipped\n")


def test_another_version_of_the_firmware_is_said_and_nothing_is_wrong_with_it(picker):
    with BoardOnPty(replace(CONFIG, firmware_version=(0, 9, 3))) as board:
        code, out, _ = picker("--port", board.port, "--check", "limits-are-the-servo-maps")
    assert code == 0 and out.endswith("checks: 1 passed; firmware 0.9.3, this program's sketch has 0.2.0\n")


def test_another_arms_firmware_is_noticed_and_not_moved(picker):
    with BoardOnPty(replace(CONFIG, joints=(JointLimits(4000, 20000, 700, 70),) * 5), found_us=START_US) as board:
        code, out, _ = picker("--port", board.port, "--motion", "--yes", *QUICK, "--check", "hold-stands-still")
        assert board.firmware.owned == 0
    assert code == doctor.NOT_CONFORMING
    assert "match False" in out and "other limits than the servo map's" in out


# -- what it moves -------------------------------------------------------------------------------------


def test_nothing_moves_unless_somebody_agrees(live):
    with raises(InputError, match="nothing was moved: not confirmed"):
        asked(live.port, "yep", "--motion", "--check", "hold-stands-still")
    assert (live.firmware.owned, live.firmware.pulses) == (0, START)


def test_an_interrupt_in_motion_brings_the_joints_back():
    with BoardOnPty(replace(CONFIG, host_timeout_ms=10_000), found_us=START_US) as board:
        process = subprocess.Popen(
            [
                PICKER,
                "doctor",
                "--port",
                board.port,
                "--motion",
                "--yes",
                *checks("a-motion-ends-at-its-last-point", "stop-ends-a-motion"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        until(lambda: board.firmware.pulses[0] > START[0] + 100, "motion")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        assert (board.firmware.live, board.firmware.pulses, board.firmware.faults) == (0b11111, START, 0)
    assert process.returncode == doctor.INTERRUPTED
    assert "brought back to where they were found" in out and "interrupted" in out.splitlines()[-1]


# -- no board ------------------------------------------------------------------------------------------


@mark.parametrize(
    "data, code, text",
    [
        (framing.build(1, 0x84, 0, b"whatever"), 8, "speaks protocol version 1, this program 2: flash the firmware"),
        (b"", 9, "is silent for 0.5 s: is it powered"),
    ],
    ids=["version", "silence"],
)
def test_what_is_no_board_of_ours_is_told(picker, monkeypatch, data, code, text):
    monkeypatch.setattr(doctor_session, "FIRST_WORD_S", 0.5)
    with speaker(lambda: data) as port:
        told, _, err = picker("--port", port)
    assert told == code and text in err and port in err
