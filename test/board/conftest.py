"""A board on a pseudo-terminal, and the serial link to it."""

import pytest
from board_on_pty import NAMES, BoardOnPty

from picker_dynamics.board.link import Link


@pytest.fixture
def board():
    with BoardOnPty(boot_id=7) as board:
        yield board


@pytest.fixture
def link(board):
    with Link(board.port, joint_names=NAMES) as link:
        yield link
