"""A board on a pseudo-terminal, the serial link to it, and sessions on boards."""

import pytest
import session_bench
from board_on_pty import NAMES, BoardOnPty

from picker_dynamics.board.link import Link

rig, rigs, quick_enabling = session_bench.rig, session_bench.rigs, session_bench.quick_enabling


@pytest.fixture
def board():
    with BoardOnPty(boot_id=7) as board:
        yield board


@pytest.fixture
def link(board):
    with Link(board.port, joint_names=NAMES) as link:
        yield link
