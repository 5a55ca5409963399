"""The virtual board over a real pseudo-terminal, talked to by the real serial link; the truth comes by the side door."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import termios
import time

import numpy as np
import pytest
from arm_fixtures import picker, servos
from spawned_board import running, spawn_board
from waiting import PATIENCE_S, until

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import BoardState, Enable, Fault, Reset, Stop, encode, limits_checksum, pulse_units
from picker_dynamics.errors import InputError, LinkError
from picker_dynamics.resources import resource
from picker_dynamics.sim.control_socket import BoardControl
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.simulated_board import HOST_TIMEOUT_S
from picker_dynamics.sim.virtual_board import CATCH_UP_S, VirtualBoard

OVERLAY = str(resource("config/servos.sim.yaml"))
ARM, SERVOS = picker(), servos()
ALL = (1 << ARM.n) - 1
POSE = np.array([0.0, 0.8, -0.8, 0.0, 0.0])
BOARD = [sys.executable, "-m", "picker_dynamics.sim.board"]


def units(q):
    return tuple(pulse_units(pulse) for pulse in SERVOS.to_pulse_us(q).tolist())


def move(link, start, end, duration_s=0.6, settle_s=0.3):
    """Stream a smooth motion at 100 Hz as the control loop does."""
    begin = time.monotonic() + 0.06
    while (now := time.monotonic()) < begin + duration_s + settle_s:
        share = min(1.0, max(0.0, (now + 0.06 - begin) / duration_s))
        share = share * share * (3.0 - 2.0 * share)
        link.send_setpoint(link.board_time_us(now + 0.06), units(start + share * (end - start)))
        time.sleep(0.01)
    for _ in range(2):  # also where this process stood still in the end
        link.send_setpoint(link.board_time_us(time.monotonic() + 0.06), units(end))
        time.sleep(0.02)
    until(lambda: link.telemetry.pulses == units(end), "the end of the motion")


@pytest.fixture
def make_board(tmp_path):
    """A board in a thread of this process, by keyword arguments; (board, client of its side door)."""
    with contextlib.ExitStack() as ends:

        def make(*, pose=SERVOS.rest, support=True, **options):
            name = tmp_path / "tty"
            plant = Plant(ARM, SERVOS, q=pose, support=support)
            board = VirtualBoard(plant, SERVOS, name, control=f"{name}.control", **{"boot_silence_s": 0.0} | options)
            return ends.enter_context(running(board)), ends.enter_context(BoardControl(f"{name}.control"))

        yield make


def linked(board):
    return Link(str(board.port.link))


# --- the chain ------------------------------------------------------------------------------------------


def test_handshake_enable_move_truth(tmp_path):
    """End to end, the board a process of its own, whose arm is not quite the one that it is told to be."""
    errors = ("--plant-error", "0.01", "--seed", "1")
    with spawn_board(tmp_path / "tty", "--servo-overlay", OVERLAY, "--boot-silence", "0.2", *errors) as control:
        start = control.truth()
        np.testing.assert_allclose(start.q, SERVOS.rest, atol=1e-6)
        assert start.live == 0 and np.isnan(start.setpoint).all() and np.isnan(start.pulses_us).all()
        with Link(str(tmp_path / "tty"), joint_names=ARM.joint_names) as link:
            assert link.info.joints == 5 and link.info.limits_crc == limits_checksum(board_limits(SERVOS))
            link.request(Enable(ALL, units(SERVOS.rest)))
            move(link, SERVOS.rest, SERVOS.home)
            truth, telemetry = control.truth(), link.telemetry
            assert truth.state in ("MOVE", "HOLD") and truth.live == truth.owned == telemetry.live == ALL
            np.testing.assert_allclose(truth.pulses_us, SERVOS.to_pulse_us(SERVOS.home), atol=0.07)
            np.testing.assert_allclose(truth.q, SERVOS.home, atol=0.1)  # it sags, and may still swing
            assert truth.q[1] < SERVOS.home[1] - 0.01
            assert telemetry.pulses == units(SERVOS.home) and not telemetry.faults
            link.request(Stop())
            until(lambda: link.telemetry.state is BoardState.HOLD)
            control.attach(0.3)
            until(lambda: np.linalg.norm(control.truth().tip - truth.tip) > 0.005)
            control.attach(0.0)
            until(lambda: np.linalg.norm(control.truth().tip - truth.tip) < 0.015)  # friction keeps a part of it
    assert os.listdir(tmp_path) == []


def test_a_simulated_board_that_stood_still_does_not_take_its_host_for_lost(make_board):
    """The machine was busy with something else: what the host said meanwhile waits on the wire."""
    board, control = make_board()
    with linked(board) as link:
        link.request(Enable(ALL, units(SERVOS.rest)))
        honest, stalls = board.wait, [3.0 * HOST_TIMEOUT_S]

        def late(until_s):
            if stalls:
                time.sleep(stalls.pop())
            return honest(until_s)

        board.wait = late
        until(lambda: not stalls and control.truth().behind_max_s > 2.0 * HOST_TIMEOUT_S)
        late_us = link.telemetry.time_us
        until(lambda: link.telemetry.time_us - late_us > 0.3e6)
        assert link.telemetry.faults == 0 and control.truth().faults == ()
    until(lambda: control.truth().faults == ("HOST_LOST",), "the loss of a host that is gone")


@pytest.mark.parametrize("stall_s", [0.3, CATCH_UP_S + 0.3])
def test_the_arm_runs_in_real_time_and_a_stall_is_caught_up_with_or_reported(make_board, stall_s):
    board, control = make_board()
    before, advance = control.truth(), board.plant.advance

    def stall(pulses, duration_s):
        board.plant.advance = advance
        time.sleep(stall_s)
        advance(pulses, duration_s)

    board.plant.advance = stall
    until(lambda: control.truth().behind_max_s > stall_s - 0.05)
    after = control.truth()
    left_out_s = after.skipped_s - before.skipped_s
    assert left_out_s > 0.2 if stall_s > CATCH_UP_S else left_out_s == 0.0
    elapsed = after.monotonic_s - before.monotonic_s  # the board's clock has not stopped
    assert after.time_s - before.time_s == pytest.approx(elapsed - left_out_s, abs=5e-3)


def test_the_board_of_an_arm_at_rest_sleeps_and_its_telemetry_comes_in_time(make_board):
    board, _ = make_board()
    waits, wait, heard = [], board.wait, []
    with linked(board) as link:
        until(lambda: board.plant.at_rest)
        link.on_telemetry = lambda *_: heard.append(1)
        board.wait = lambda until_s: waits.append(1) or wait(until_s)
        time.sleep(0.5)
        assert 20 <= len(heard) <= 30  # every 20 ms
        assert len(waits) < 4 * len(heard)  # servo frames, telemetry, pings; not every millisecond


# --- what a real board does ------------------------------------------------------------------------------


def test_opening_the_port_resets_the_board_unless_dtr_stays_up(make_board):
    board, control = make_board(boot_silence_s=0.1)
    assert control.truth().boot_id == 1
    for _ in range(2):  # the first opening raises DTR, and our link leaves it up
        with linked(board) as link:
            assert link.info.boot_id == 2
    descriptor = os.open(board.port.link, os.O_RDWR | os.O_NOCTTY)
    attributes = termios.tcgetattr(descriptor)
    attributes[2] |= termios.HUPCL  # a client as others are
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    until(lambda: board.port.descriptor is not None)
    os.close(descriptor)
    until(lambda: board.port.descriptor is None)
    with linked(board) as link:
        assert link.info.boot_id == 3


def test_damaged_bytes_and_failing_supplies(make_board):
    """What the side door does to a board shows on the wire, and requests get through."""
    board, control = make_board(pose=POSE, support=False, found=POSE)
    with linked(board) as link:
        control.command("wire", drop=0.004, corrupt=0.004)
        for _ in range(20):
            link.request(Reset(), timeout_s=3.0)
        until(lambda: link.statistics.frames_damaged + link.statistics.frames_missed > 0)
        control.command("wire")
        for source in (1.0, 0.9):
            control.command("supply", volt=6.0 * source)
            until(lambda below=source - 5e-3: board.plant.at_rest and board.plant.supply < below)
            until(lambda: abs(link.telemetry.supply_mv - 6000.0 * board.plant.supply) <= 5.4)
        control.command("supply", volt=3.9)
        until(lambda: link.telemetry.faults == Fault.SUPPLY_LOW.bit)


# --- the side door ---------------------------------------------------------------------------------------


def test_requests_that_make_no_sense_are_refused_and_do_no_harm(make_board):
    _, control = make_board()
    for command, arguments, words in (
        ("dance", {}, "must be one of"),
        ("attach", {"mass_kg": -1.0}, "payload mass"),
        ("attach", {"weight": 1.0}, "weight"),
    ):
        with pytest.raises(InputError, match=words):
            control.command(command, **arguments)
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(control.path)
        raw.sendall(b"not json\n[1]\n")
        assert b"not JSON" in raw.recv(4096)
    assert control.truth().payload_kg == 0.0


def test_the_truth_is_of_one_instant(tmp_path):
    """Outputs, set-point and torque agree between the firmware's step and the plant's."""
    board = VirtualBoard(Plant(ARM, SERVOS), SERVOS, tmp_path / "tty")
    with contextlib.closing(board.port):
        board.firmware.receive(encode(Enable(ALL, units(SERVOS.home)), 1), 0)
        truth = board.answer({"command": "truth"})
    assert truth["live"] == ALL and truth["time_s"] == 0.0
    made_us = SERVOS.quantise_us(truth["pulses_us"])
    assert truth["setpoint"] == pytest.approx([servo.to_angle(us) for servo, us in zip(SERVOS.servos, made_us)], abs=1e-12)
    assert np.abs(truth["torque"]).max() > 0.1


# --- beginning and end -----------------------------------------------------------------------------------


def run_board(*arguments):
    return subprocess.run([*BOARD, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S)


def test_what_cannot_be_made_or_read_gets_one_line_and_a_code(tmp_path):
    (tmp_path / "occupied").write_text("mine")
    (tmp_path / "socket").symlink_to(tmp_path / "made by root")
    tty = tmp_path / "tty"
    for code, words, arguments in (
        (9, "something else has that name", ["--link", tmp_path / "occupied"]),
        (3, "cannot read URDF", ["--link", tty, "--urdf", tmp_path / "no.urdf"]),
        (9, "control socket", ["--link", tty, "--control", tmp_path / "socket"]),
    ):
        done = run_board(*arguments)
        assert done.returncode == code and words in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (tmp_path / "occupied").read_text() == "mine" and not (tmp_path / "made by root").exists()
    assert not os.path.lexists(tty)


def test_a_board_keeps_its_name_and_its_door_to_itself_and_ends_where_its_name_was_taken(tmp_path):
    with spawn_board(tmp_path / "tty") as control:
        assert stat.S_IMODE((tmp_path / "tty.control").stat().st_mode) == 0o600
        second = run_board("--link", tmp_path / "other", "--control", tmp_path / "tty.control")
        assert second.returncode == 9 and "control socket" in second.stderr and not os.path.lexists(tmp_path / "other")
        control.command("unplug", seconds=0.5)
        until(lambda: not os.path.lexists(tmp_path / "tty"))
        (tmp_path / "tty").write_text("mine")
        with pytest.raises(LinkError, match="no virtual board|does not answer"):
            until(lambda: control.truth() is None)
    assert (tmp_path / "tty").read_text() == "mine"


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_it_ends_cleanly_or_the_next_one_cleans_up(tmp_path, number, code):
    link = tmp_path / "tty"
    process = subprocess.Popen([*BOARD, "--link", link, "--control", f"{link}.control"], stdout=subprocess.PIPE, text=True)
    assert "tty" in process.stdout.readline()
    process.send_signal(number)
    assert process.wait(timeout=PATIENCE_S) == code
    process.stdout.close()
    assert os.path.lexists(link) == (number == signal.SIGKILL)
    master, slave = os.openpty()  # may get the number that the link of a killed board still points to
    with spawn_board(link, "--boot-silence", "0") as control, Link(str(link)) as opened:
        assert control.truth().boot_id == opened.info.boot_id == 1
    os.close(master)
    os.close(slave)
    assert os.listdir(tmp_path) == []
