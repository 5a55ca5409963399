"""``picker view`` on the running graph, asked as a page asks: what moves, who may drive, and how it ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arm_fixtures import rigid_body
from scenarios.bench import HOME, at_home, driver, until, until_free, until_hardware
from view_pages import Told, unbuilt, viewing
from waiting import until as wait_until

from picker_dynamics.errors import GoalRefusedError
from picker_dynamics.recording.reader import read

pytestmark = [pytest.mark.ros, pytest.mark.long, pytest.mark.skipif(bool(unbuilt()), reason=unbuilt())]

TOUR = """arm: picker
joints: {base: deg, shoulder: deg, elbow: deg, wrist: deg, scissor: deg}
steps:
- {pose: aside, at: {base: 20}}
- {pose: grip, at: {scissor: 20}}
- payload: 10
- pause: 0.2
- {pose: back, at: {base: 0}}
- payload: 0
"""


@pytest.fixture
def page(client, board, tmp_path):
    at_home(client, board)
    (tmp_path / "tour.yaml").write_text(TOUR)
    with viewing(folder=tmp_path) as (_, page):
        yield page
    until_free(client)


@pytest.fixture
def told(page):
    return Told(page, "pose", "status")


def test_the_arm_its_reference_and_the_true_one_are_told_and_a_motion_is_made(client, board, page, told):
    wait_until(lambda: "truth" in told.newest["pose"]["q"], "the true arm")
    wait_until(lambda: np.abs(np.array(told.newest["pose"]["q"]["reference"]) - HOME).max() < 1e-4, "home")
    pose, status = told.newest["pose"], told.newest["status"]
    np.testing.assert_allclose(pose["tip"]["reference"], rigid_body().forward_kinematics(HOME), atol=1e-4)
    assert status["provenance"] == "modelled" and status["hardware"]["state"] == "active"
    there = {"base": float(HOME[0] + 0.3)}
    assert page.ask("/api/check", {"do": "joints", "to": there})[1]["possible"]
    page.done("joints", to=there)
    until(client, lambda: abs(client.reference()[0] - HOME[0] - 0.3) < 1e-3, "the motion")


def test_who_drives_on_a_page_has_the_arm_until_the_page_is_gone(client, page, told):
    page.done("drive")
    until(client, lambda: driver(client), "a driver")
    with pytest.raises(GoalRefusedError, match="driver"):
        client.move_through([1.0], [client.reference()])
    told.close()  # as where the page is closed
    until_free(client)


def test_stop_reset_and_enable_are_those_of_the_commands(client, page):
    assert "latched" in page.ask("/api/stop", {})[1]["said"]
    until(client, client.is_stopped, "the stop")
    assert "refused" in page.refused("home")["error"]
    page.done("reset")
    assert "adopted" in page.done("enable")["said"]
    until_hardware(client, "active")


def test_settings_reach_the_nodes(client, page, told):
    page.do("payload", kg=0.025)
    wait_until(lambda: told.newest["status"].get("payload_kg") == 0.025, "the payload")
    page.do("payload", kg=0.0)
    assert "dynamics:" in page.refused("payload", kg=4.0)["error"]


def ending_well(page, told, what: str, **more) -> str:
    """Ask for a tour or pick; what is said of its end."""

    def ended() -> str:
        return next((text for text in told.said[before:] if ": done" in text or ": ended in step" in text), "")

    before = len(told.said)
    page.done(what, **more)
    return wait_until(ended, "its end")


def test_a_tour_is_made_and_recorded_by_the_code_of_the_commands(client, page, told, tmp_path):
    path = Path(page.done("record")["said"].rpartition(" ")[2])
    wait_until(lambda: path.is_file() and path.stat().st_size, "the file")
    assert path.parent == tmp_path and told.newest["status"]["writes"] == str(path)
    assert [one["name"] for one in page.ask("/api/tours")[1]["tours"]] == ["tour.yaml", path.name]
    assert ending_well(page, told, "tour", name="tour.yaml") == "tour: done"
    until(client, lambda: abs(client.reference()[0]) < 1e-3, "the end of the tour")
    assert driver(client), "the page drives"
    assert f"recorded: {path}: " in page.done("record_end")["said"]
    recorded = read(path)
    assert recorded.arm == "picker" and recorded.reference.values[:, 0].max() == pytest.approx(np.radians(20.0), abs=1e-3)
    assert len([event for event in recorded.events if event.outcome == "done"]) >= 3


def test_a_stop_ends_a_tour_and_rate_and_latency_of_the_loop_are_told(client, page, told):
    wait_until(lambda: told.newest["status"].get("loop", {}).get("period_ms"), "the loop's figures")
    status = told.newest["status"]
    assert 5.0 < status["loop"]["period_ms"] < 40.0 and status["loop"]["ahead_ms"] > 0.0
    assert status["latency_ms"] > 0.0 and len(status["celsius"]) == 5 and status["celsius_are"] == "estimated"
    page.done("tour", name="tour.yaml", loop=100)
    wait_until(lambda: "step 1 of" in told.newest.get("tour", {}).get("what", ""), "the tour")
    page.ask("/api/stop", {})
    wait_until(lambda: any(text.startswith("tour: ended in step") for text in told.said), "its end")
    page.done("reset")
    page.do("enable")
    until_hardware(client, "active")
    page.do("payload", kg=0.0)
