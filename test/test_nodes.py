"""The three real nodes as processes, on the virtual board, judged by the simulation's truth; see ``scenarios``."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("scenarios", "ros_graph")

import scenarios  # noqa: E402
from ros_graph import own_domain, running_graph  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture(scope="module", autouse=True)
def domain():
    with own_domain() as domain:
        yield domain


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """One graph for all tests that leave it holding."""
    with running_graph(tmp_path_factory.mktemp("arm")) as running:
        scenarios.comes_up_holding(running.client, running.board)
        yield running


@pytest.fixture
def client(arm):
    assert arm.runner.dead() is None
    return arm.client


@pytest.fixture
def board(arm):
    return arm.board


def test_it_comes_up_holding(client, board):
    scenarios.comes_up_holding(client, board)


def test_a_trajectory_is_executed_within_tolerance(client, board):
    scenarios.executes_a_trajectory(client, board)


@pytest.mark.parametrize("case", scenarios.IMPOSSIBLE)
def test_what_cannot_be_done_is_refused_and_moves_nothing(client, board, case):
    scenarios.refuses(client, board, case)


@pytest.mark.parametrize("scenario", [
    scenarios.refuses_a_goal_from_the_past,
    scenarios.refuses_to_hurry_where_slowing_is_off,
    scenarios.carries_a_payload_without_a_jump,
    scenarios.changes_compensation_without_a_jump,
    scenarios.follows_a_good_stream,
    scenarios.ignores_commands_that_do_not_fit,
    scenarios.stops_and_resumes_nothing,
    scenarios.takes_no_goal_while_it_is_off,
    scenarios.survives_a_board_reset_in_mid_motion,
    scenarios.survives_a_pulled_cable,
    scenarios.brakes_at_a_fault_and_names_it,
    scenarios.arrives_in_spite_of_damaged_frames,
    scenarios.refuses_illegal_transitions_and_lives,
    scenarios.relaxes,
], ids=lambda scenario: scenario.__name__)
def test_the_arm(client, board, scenario):
    scenario(client, board)
