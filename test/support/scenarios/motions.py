"""What an arm has to do, and what it has to refuse."""

from __future__ import annotations

import numpy as np
import pytest
from arm_fixtures import rigid_body

from picker_dynamics.errors import PickerError

from .bench import ALL, HOME, PATIENCE_S, Commands, Watch, at_home, moved, stands, until, wait_until_up


def comes_up_holding(client, board) -> None:
    """Bring-up ends with all outputs on, at the pose where the arm stood."""
    wait_until_up(client)
    truth = board.truth()
    assert (truth.live, truth.owned, truth.faults) == (ALL, ALL, ())
    assert client.hardware["state"] == "active"
    np.testing.assert_allclose(stands(client, board), client.reference(), atol=0.03)


def executes_a_trajectory(client, board) -> None:
    """Through two points, in a hurry, yet no faster than the tip may be, to where it was told; the tip within 5 mm."""
    at_home(client, board)
    middle, end = moved(base=0.4, shoulder=-0.2), moved(base=0.1, shoulder=-0.3, elbow=0.3, wrist=-0.2)
    with Watch(board) as watch:
        client.move_through([0.2, 0.4], [middle, end], timeout_s=PATIENCE_S)
        np.testing.assert_allclose(client.reference(), end, atol=1e-6)
        wanted = rigid_body().forward_kinematics(end)
        until(client, lambda: np.linalg.norm(board.truth().tip - wanted) < 5e-3, "the tip within 5 mm")
    assert watch.tip_speed() < 0.25 * 1.25, "people stand beside it; a quarter for what springs add"
    passed = min(np.abs(truth.q - middle).max() for truth in watch.samples)
    assert passed < 0.15, "it went by way of the first point"
    until(client, lambda: np.abs(client.state - board.truth().q).max() < 0.03, "a modelled state near the truth")


def carries_a_payload_without_a_jump(client, board) -> None:
    """The set-points rise to what the berry weighs, gradually; a bad value changes nothing."""
    at_home(client, board)
    with Commands(client) as commands:
        bare = commands.steady_efforts()
        with client.meanwhile("dynamics", payload__mass=0.05):
            heavier = rigid_body(0.05).gravity(HOME) - rigid_body().gravity(HOME)
            until(client, lambda: np.allclose(commands.efforts[-1] - bare, heavier, atol=1e-6), "the torque of the payload")
            assert np.abs(heavier).max() > 0.02
            for bad in (-0.1, np.nan, 1e3, "heavy"):
                with pytest.raises(PickerError):
                    client.set_parameters("dynamics", payload__mass=bad)
            for bad in ([0.1], [0.0, 0.0, np.nan]):
                with pytest.raises(PickerError, match="com|number"):
                    client.set_parameters("dynamics", payload__com=bad)
            commands.more(20)
            np.testing.assert_allclose(commands.efforts[-1] - bare, heavier, atol=1e-6)
        until(client, lambda: np.allclose(commands.efforts[-1], bare, atol=1e-6), "the torque of the bare arm")
    assert commands.largest_step() < 0.004, "half a second for the passage, at 100 Hz"


def changes_compensation_without_a_jump(client, board) -> None:
    """Without compensation the arm sags, with it it does not once it has moved; an unknown mode changes nothing."""
    at_home(client, board)
    wanted = rigid_body().forward_kinematics(HOME)
    try:
        for mode, near in (("none", False), ("gravity", None), ("none", False), ("full", True)):
            with Commands(client) as commands:
                client.set_parameters("dynamics", compensation=mode)
                commands.more(80)
            assert commands.largest_step() < 0.008
            for target in (moved(shoulder=0.1, elbow=-0.1), HOME) if near else ():
                client.move_through([1.0], [target], timeout_s=PATIENCE_S)
            if near is not None:
                until(
                    client, lambda near=near: bool(np.linalg.norm(board.truth().tip - wanted) < 4e-3) is near, f"effect of {mode}"
                )
    finally:  # what comes next is held to what the arm reaches with it
        client.wait_holding(PATIENCE_S)
        client.set_parameters("dynamics", compensation="full")
    with Commands(client) as commands:
        before = commands.steady()
        with pytest.raises(PickerError, match="none, gravity, full"):
            client.set_parameters("dynamics", compensation="most")
        commands.more(80)
        np.testing.assert_allclose(commands.positions[-1], before, atol=0.01)
    assert commands.largest_step() < 0.008
