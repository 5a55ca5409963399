"""The virtual board over a real pseudo-terminal, talked to by the real serial link; the truth comes by the side door."""

import os
import signal
import socket
import stat
import subprocess
import sys
import termios
import threading
import time
from select import select

import numpy as np
import pytest
from arm_fixtures import picker, servos
from waiting import PATIENCE_S, until

from picker_dynamics import lifeline
from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import Adopt, BoardState, Enable, Fault, Relax, Reset, Stop, limits_checksum, pulse_units
from picker_dynamics.errors import InputError, LinkError
from picker_dynamics.resources import resource
from picker_dynamics.sim.board import VirtualBoard, spawn_board
from picker_dynamics.sim.control_socket import BoardControl, ControlServer
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.pty_port import Wire
from picker_dynamics.sim.simulated_board import HOST_TIMEOUT_S
from picker_dynamics.sim.virtual_board import CATCH_UP_S

OVERLAY = resource("config/servos.sim.yaml")
ARM, SERVOS = picker(), servos()
ALL = (1 << ARM.n) - 1
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


@pytest.fixture
def make_board(tmp_path):
    """Boards in threads of this process, by keyword arguments; each yields (board, client of its side door)."""
    running = []

    def make(*, pose=SERVOS.rest, support=True, **options):
        options.setdefault("boot_silence_s", 0.0)
        name = tmp_path / f"tty{len(running)}"
        board = VirtualBoard(Plant(ARM, SERVOS, q=pose, support=support), SERVOS, name, control=f"{name}.control", **options)
        board.start()
        control = BoardControl(f"{name}.control")
        running.append((board, control))
        return board, control

    yield make
    for board, control in running:
        control.close()
        board.stop()


def linked(board, **options):
    return Link(str(board.port.link), **options)


# --- the chain ------------------------------------------------------------------------------------------


def test_handshake_enable_move_truth(tmp_path):
    """End to end, the board a process of its own."""
    with spawn_board(tmp_path / "tty", "--servo-overlay", str(OVERLAY), "--boot-silence", "0.2") as control:
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
            assert telemetry.pulses == units(SERVOS.home)
            assert link.statistics.setpoints_refused == {} and not telemetry.faults
            held = truth.tip
            link.request(Stop())
            until(lambda: link.telemetry.state is BoardState.HOLD)
            control.attach(0.3)
            until(lambda: np.linalg.norm(control.truth().tip - held) > 0.005)
            control.detach()
            until(lambda: np.linalg.norm(control.truth().tip - held) < 0.015)  # friction keeps a part of it
    assert os.listdir(tmp_path) == []


def test_a_simulated_board_that_stood_still_does_not_take_its_host_for_lost(make_board):
    """The machine was busy with something else: what the host said meanwhile waits on the wire."""
    board, control = make_board()
    with linked(board) as link:
        link.request(Enable(ALL, units(SERVOS.rest)))
        honest, stalls = board.wait, [3.0 * HOST_TIMEOUT_S] * 3

        def late(until_s):
            if stalls:
                time.sleep(stalls.pop())
            return honest(until_s)

        board.wait = late
        until(lambda: not stalls)
        del board.wait
        late_us = link.telemetry.time_us
        until(lambda: link.telemetry.time_us - late_us > 0.3e6)
        assert link.telemetry.faults == 0 and control.truth().faults == ()
        assert control.truth().behind_max_s >= 3.0 * HOST_TIMEOUT_S
    until(lambda: control.truth().faults == ("HOST_LOST",), "the loss of a host that is gone")


def test_the_arm_runs_in_real_time(make_board):
    board, control = make_board()
    first = control.truth()
    time.sleep(0.4)
    second = control.truth()
    elapsed = second.monotonic_s - first.monotonic_s
    assert elapsed > 0.3
    assert second.time_s - first.time_s == pytest.approx(elapsed - second.skipped_s + first.skipped_s, abs=2e-3)


@pytest.mark.parametrize("stall_s", [0.3, CATCH_UP_S + 0.5])
def test_a_machine_that_stalls_is_caught_up_with_or_reported(make_board, stall_s):
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
    assert left_out_s > 0.4 if stall_s > CATCH_UP_S else left_out_s == 0.0
    elapsed = after.monotonic_s - before.monotonic_s  # the board's clock has not stopped
    assert after.time_s - before.time_s == pytest.approx(elapsed - left_out_s, abs=5e-3)


def test_the_board_of_an_arm_at_rest_sleeps_and_its_telemetry_comes_in_time(make_board):
    board, control = make_board(boot_silence_s=0.0)
    waits = []
    wait = board.wait
    with linked(board) as link:
        until(lambda: board.plant.at_rest)
        before = link.statistics
        board.wait = lambda until_s: waits.append(1) or wait(until_s)
        time.sleep(0.5)
        heard = link.statistics.telemetry_received - before.telemetry_received
        assert 20 <= heard <= 30  # every 20 ms
        assert len(waits) < 4 * heard  # servo frames, telemetry, pings; not every millisecond


def test_relax_lets_the_arm_fall(make_board):
    board, control = make_board(pose=np.array([0.0, 0.8, -0.8, 0.0, 0.0]), support=False, live=True)
    with linked(board) as link:
        link.request(Adopt(ALL))
        time.sleep(0.2)
        assert control.truth().q[1] > 0.6
        link.request(Relax())
        until(lambda: control.truth().q[1] < -0.2)
        assert control.truth().live == 0 == link.telemetry.live


# --- what a real board does ------------------------------------------------------------------------------


def test_opening_the_port_resets_the_board_unless_dtr_stays_up(make_board):
    board, control = make_board(boot_silence_s=0.2)
    assert control.truth().boot_id == 1
    with linked(board) as link:  # the first opening raises DTR
        assert link.info.boot_id == 2
    with linked(board) as link:  # our link leaves it up
        assert link.info.boot_id == 2
    descriptor = os.open(board.port.link, os.O_RDWR | os.O_NOCTTY)
    attributes = termios.tcgetattr(descriptor)
    attributes[2] |= termios.HUPCL  # a client as others are
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    time.sleep(0.3)  # for the board to have looked at the line, however busy the machine is
    os.close(descriptor)
    time.sleep(0.3)
    with linked(board) as link:
        assert link.info.boot_id == 3


def test_outputs_that_outlive_a_reset_are_kept_and_can_be_adopted(make_board):
    board, control = make_board(pose=SERVOS.home, support=False, live=True, boot_silence_s=0.2)
    time.sleep(0.2)
    with linked(board) as link:
        assert link.telemetry.live == ALL and link.telemetry.owned == 0
        link.request(Adopt(ALL))
        np.testing.assert_allclose(control.truth().q, SERVOS.home, atol=0.1)
        assert link.telemetry.pulses == units(SERVOS.home)


def test_a_reset_in_motion_is_noticed_and_the_arm_stays(make_board):
    board, control = make_board()
    boots = []
    with linked(board, on_boot=lambda old, new: boots.append((old, new))) as link:
        link.request(Enable(ALL, units(SERVOS.rest)))
        move(link, SERVOS.rest, SERVOS.home, settle_s=0.0)
        control.reset(fault="RESTARTED")
        until(lambda: boots)
        truth = control.truth()
        assert boots == [(1, 2)] and truth.boot_id == 2
        assert truth.live == ALL and truth.owned == 0 and truth.faults == ("RESTARTED",)
        time.sleep(0.3)
        assert control.truth().q[1] == pytest.approx(truth.q[1], abs=0.1)
        control.reset(keep_outputs=False)
        until(lambda: len(boots) == 2)
        assert control.truth().live == 0


def test_a_pulled_cable_is_noticed_and_the_board_holds(make_board):
    board, control = make_board()
    losses = []
    with linked(board, on_loss=losses.append) as link:
        link.request(Enable(ALL, units(SERVOS.rest)))
        control.unplug(0.5)
        until(lambda: losses)
        assert not link.connected and not os.path.lexists(board.port.link)
        until(lambda: control.truth().faults == ("HOST_LOST",))
        link.reconnect(give_up_s=8.0)
        assert link.telemetry.live == ALL == link.telemetry.owned and link.telemetry.faults == Fault.HOST_LOST.bit
        link.request(Reset())
        np.testing.assert_allclose(control.truth().q, SERVOS.rest, atol=0.05)


def test_damaged_bytes_are_counted_and_requests_get_through(make_board):
    board, control = make_board()
    with linked(board) as link:
        control.wire(drop=0.004, corrupt=0.004)
        for _ in range(20):
            link.request(Reset(), timeout_s=3.0)
        until(lambda: link.statistics.frames_damaged + link.statistics.frames_missed > 0)
        control.wire()
        until(lambda: link.telemetry.bad_frames + link.statistics.frames_damaged > 0)


def test_another_speed_is_noise(make_board):
    board, _ = make_board()
    with pytest.raises(LinkError, match="speaks something else"):
        linked(board, baud=115_200).open(timeout_s=0.5)
    linked(board).open()


def test_clocks_drift_and_jump(make_board):
    board, control = make_board(clock_drift_ppm=4000.0)
    with linked(board) as link:
        until(lambda: link.statistics.drift_ppm == pytest.approx(4000.0, abs=1000.0))
        before = link.telemetry.time_us
        control.clock(jump_s=30.0)
        until(lambda: link.telemetry.time_us - before > 30e6)
        until(lambda: abs(link.board_time_us() - link.telemetry.time_us) < 0.1e6)


def test_a_supply_that_fails_latches_a_fault(make_board):
    board, control = make_board()
    with linked(board) as link:
        assert link.telemetry.supply_mv == 5996  # 614 steps of 9.77 mV
        control.supply(3.9)
        until(lambda: link.telemetry.faults == Fault.SUPPLY_LOW.bit)
        control.supply(6.0)
        link.request(Reset())
        control.cause("OUTPUT_FAILED", True)
        until(lambda: link.telemetry.faults == Fault.OUTPUT_FAILED.bit)


def test_the_supply_is_measured_as_it_sags(make_board):
    """What the board says is the simulated arm's supply, to half a step of its converter; another source is seen at once."""
    pose = np.array([0.0, 0.6, -0.4, -0.2, 0.6])
    board, control = make_board(pose=pose, support=False, live=True)
    with linked(board) as link:
        until(lambda: board.plant.at_rest)
        for source in (1.0, 0.9):
            control.supply(6.0 * source)
            until(lambda below=source - 5e-3: board.plant.at_rest and board.plant.supply < below)
            until(lambda: abs(link.telemetry.supply_mv - 6000.0 * board.plant.supply) <= 5.4)


# --- the side door ---------------------------------------------------------------------------------------


def test_requests_that_make_no_sense_are_refused_and_do_no_harm(make_board):
    board, control = make_board()
    for command, arguments, words in (
        ("dance", {}, "must be one of"),
        ("attach", {"mass_kg": -1.0}, "payload mass"),
        ("attach", {"weight": 1.0}, "weight"),
        ("wire", {"drop": 2.0}, "drop"),
        ("unplug", {"seconds": 0.0}, "seconds"),
        ("reset", {"fault": "GREMLINS"}, "GREMLINS"),
        ("clock", {"jump_s": -1.0}, "forward"),
    ):
        with pytest.raises(InputError, match=words):
            control.command(command, **arguments)
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(control.path)
        raw.sendall(b"not json\n[1]\n")
        assert b"not JSON" in raw.recv(4096)
    assert control.truth().payload_kg == 0.0


def test_plant_errors_are_reported(tmp_path):
    arguments = ("--servo-overlay", str(OVERLAY), "--plant-error", "0.15", "--seed", "1")
    with spawn_board(tmp_path / "tty", *arguments) as control:
        assert control.plant_error() == Plant(ARM, SERVOS, plant_error=0.15, seed=1).perturbed


def test_bytes_are_lost_and_damaged_as_often_as_asked():
    wire = Wire(seed=5)
    data = bytes(20_000)
    assert wire.carry(data) is data
    wire.drop, wire.corrupt = 0.1, 0.2
    arrived = wire.carry(data)
    assert len(arrived) == pytest.approx(18_000, rel=0.02)
    assert sum(byte != 0 for byte in arrived) == pytest.approx(3_600, rel=0.1)
    assert all(bin(byte).count("1") <= 1 for byte in arrived)


def test_a_port_whose_name_was_taken_while_unplugged_ends_the_board_with_a_word(tmp_path):
    with spawn_board(tmp_path / "tty") as control:
        control.unplug(0.2)
        (tmp_path / "tty").write_text("mine")
        with pytest.raises(LinkError, match="is gone|does not answer"):
            until(lambda: control.truth() is None)
    assert (tmp_path / "tty").read_text() == "mine"


# --- beginning and end -----------------------------------------------------------------------------------


def run_board(*arguments):
    return subprocess.run([*BOARD, *map(str, arguments)], capture_output=True, text=True, timeout=30)


def test_what_cannot_be_made_or_read_gets_one_line_and_a_code(tmp_path):
    occupied = tmp_path / "occupied"
    occupied.write_text("mine")
    for code, words, arguments in (
        (9, "something else has that name", ["--link", occupied]),
        (9, "No such file", ["--link", tmp_path / "nowhere" / "tty"]),
        (9, "too long", ["--link", tmp_path / "tty", "--control", tmp_path / ("x" * 120)]),
        (3, "cannot read URDF", ["--link", tmp_path / "tty", "--urdf", tmp_path / "no.urdf"]),
        (4, "servo map", ["--link", tmp_path / "tty", "--servo-overlay", tmp_path / "no.yaml"]),
    ):
        done = run_board(*arguments)
        assert done.returncode == code and words in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert occupied.read_text() == "mine" and sorted(os.listdir(tmp_path)) == ["occupied"]


def test_neither_lock_nor_socket_follows_a_link_and_nobody_else_connects(tmp_path):
    for name in ("tty.lock", "socket"):
        (tmp_path / name).symlink_to(tmp_path / "made by root")
    assert run_board("--link", tmp_path / "tty").returncode == 9
    assert run_board("--link", tmp_path / "other", "--control", tmp_path / "socket").returncode == 9
    assert not (tmp_path / "made by root").exists()
    with spawn_board(tmp_path / "third"):
        assert (
            stat.S_IMODE((tmp_path / "third.control").stat().st_mode)
            == stat.S_IMODE((tmp_path / "third.lock").stat().st_mode)
            == 0o600
        )


def test_a_second_board_does_not_take_the_first_ones_place(tmp_path):
    with spawn_board(tmp_path / "tty"):
        second = run_board("--link", tmp_path / "other", "--control", tmp_path / "tty.control")
        assert second.returncode == 9 and "control socket" in second.stderr
        third = run_board("--link", tmp_path / "tty")
        assert third.returncode == 9 and "another virtual board" in third.stderr
        assert not os.path.lexists(tmp_path / "other")


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -9)])
def test_it_ends_cleanly_or_the_next_one_cleans_up(tmp_path, number, code):
    link = tmp_path / "tty"
    process = subprocess.Popen([*BOARD, "--link", link, "--control", f"{link}.control"], stdout=subprocess.PIPE, text=True)
    assert "tty" in process.stdout.readline()
    process.send_signal(number)
    assert process.wait(timeout=10.0) == code
    process.stdout.close()
    assert os.path.lexists(tmp_path / "tty") == (number == signal.SIGKILL)
    master, slave = os.openpty()  # may get the number that the link of a killed board still points to
    with spawn_board(tmp_path / "tty", "--boot-silence", "0") as control, Link(str(tmp_path / "tty")) as link:
        assert control.truth().boot_id == link.info.boot_id == 1
    os.close(master)
    os.close(slave)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_where_a_graph_s_terminal_closes_its_empty_folder_goes_too(tmp_path, number):
    """Nobody may be left to remove it; at any other end that is up to whoever made it."""
    folder = tmp_path / "graph"
    folder.mkdir()
    command, environment = [*BOARD, "--link", folder / "tty"], os.environ | lifeline.children()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert "tty" in process.stdout.readline()
    process.send_signal(number)
    assert process.wait(timeout=PATIENCE_S) == 0
    process.stdout.close()
    assert folder.exists() == (number == signal.SIGTERM)


def test_a_reply_that_was_not_waited_for_is_not_taken_for_the_next(tmp_path):
    """Ctrl-C while a client waits: what it asks afterwards gets its own answer."""
    server = ControlServer(tmp_path / "control", lambda request: {"ok": True, "to": request["command"]})

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with BoardControl(tmp_path / "control", timeout_s=PATIENCE_S) as control:
            with pytest.raises(KeyboardInterrupt):  # nobody serves
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                control.command("plant_error")
            over = threading.Event()
            serving = threading.Thread(
                target=lambda: [server.serve(select(server.readers, [], [], 0.01)[0]) for _ in iter(over.is_set, True)]
            )
            serving.start()
            try:
                assert control.command("truth") == {"to": "truth"}
            finally:
                over.set()
                serving.join()
    finally:
        signal.signal(signal.SIGALRM, before)
        server.close()


def test_the_client_needs_no_mujoco_and_says_when_nobody_is_there(tmp_path):
    with pytest.raises(LinkError, match="no virtual board"):
        BoardControl(tmp_path / "nobody")
    code = "import sys, picker_dynamics.sim.board, picker_dynamics.sim.control_socket; print('mujoco' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
