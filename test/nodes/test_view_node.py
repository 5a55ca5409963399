"""``picker view`` on the running graph, asked as a page asks: what moves, who may drive, and how it ends."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import types

import numpy as np
import pytest
from arm_fixtures import rigid_body
from patient import patiently
from scenarios.bench import HOME, at_home, until
from view_pages import Page, Told
from waiting import PATIENCE_S
from waiting import until as wait_until

from picker_dynamics.errors import GoalRefusedError
from picker_dynamics.scripting.view import server

pytestmark = pytest.mark.ros

TOKEN = "a-token-of-this-test"


@contextlib.contextmanager
def viewing(*words: str):
    """``picker view``, and a page of it."""
    command = patiently("picker", "view", "--no-browser", "--token", TOKEN, "--view-port", "0", *words)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline()
            port = int(re.search(r":(\d+)/", said)[1])
            yield process, Page(types.SimpleNamespace(door=types.SimpleNamespace(port=port, token=TOKEN)))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


@pytest.fixture(scope="module", autouse=True)
def built():
    if not (server.PAGE / "index.html").is_file():
        pytest.skip("the page of picker view is not built: make setup")


@pytest.fixture
def page(client, board):
    at_home(client, board)
    with viewing() as (_, page):
        yield page
    until(client, lambda: not driver(client), "the arm is free")


def driver(client) -> str:
    lease = client.controller.get("lease", "")
    return lease.removeprefix("driver ") if lease.startswith("driver ") else ""


def test_the_arm_its_reference_and_the_true_one_are_told_and_a_motion_is_made(client, board, page):
    told = Told(page)
    wait_until(lambda: told.newest.keys() >= {"pose", "status"} and "truth" in told.newest["pose"]["q"], "the true arm")
    wait_until(lambda: np.abs(np.array(told.newest["pose"]["q"]["reference"]) - HOME).max() < 1e-4, "home")
    pose, status = told.newest["pose"], told.newest["status"]
    np.testing.assert_allclose(pose["tip"]["reference"], rigid_body().forward_kinematics(HOME), atol=1e-4)
    assert status["provenance"] == "modelled" and status["hardware"]["state"] == "active"
    asked = {"do": "joints", "to": {"base": float(HOME[0] + 0.3)}}
    assert page.ask("/api/check", asked)[1]["possible"]
    assert page.ask("/api/do", asked)[0] == 200
    until(client, lambda: abs(client.reference()[0] - HOME[0] - 0.3) < 1e-3, "the motion")


def test_who_drives_on_a_page_has_the_arm_until_the_page_is_gone(client, page):
    told = Told(page)
    wait_until(lambda: "pose" in told.newest, "a stream")
    assert page.ask("/api/do", {"do": "drive"})[0] == 200
    until(client, lambda: driver(client), "a driver")
    with pytest.raises(GoalRefusedError, match="driver"):
        client.move_through([1.0], [client.reference()])
    told._stream.close()  # noqa: SLF001 (the page is closed)
    until(client, lambda: not driver(client), "the arm is free")


@pytest.mark.parametrize("asked", [{"linear": [0.0, 0.04, 0.0]}, {"joints": {"base": 0.3}}])
def test_a_jog_moves_the_arm_as_long_as_it_is_said_again(client, page, asked):
    told, begin = Told(page), client.reference()
    wait_until(lambda: "pose" in told.newest, "a stream")

    def moved() -> bool:
        page.ask("/api/do", {"do": "jog", **asked})
        return client.reference()[0] > begin[0] + 0.05

    until(client, moved, "jogging")
    until(client, lambda: client.controller["phase"] == "holding", "its end")
    rests = client.reference()
    client.spin(0.5)
    np.testing.assert_allclose(client.reference(), rests, atol=1e-6)


def test_stop_reset_and_enable_are_those_of_the_commands(client, page):
    assert "latched" in page.ask("/api/stop", {})[1]["said"]
    until(client, lambda: client.hardware.get("stop_latched") == "true", "the stop")
    status, said, _ = page.ask("/api/do", {"do": "home"})
    assert status == 409 and "refused" in said["error"]
    assert page.ask("/api/do", {"do": "reset"})[0] == 200
    assert "adopted" in page.ask("/api/do", {"do": "enable"})[1]["said"]
    until(client, lambda: client.hardware.get("state") == "active", "the arm")


def test_settings_reach_the_nodes(client, page):
    told = Told(page)
    page.ask("/api/do", {"do": "payload", "kg": 0.025})
    wait_until(lambda: told.newest.get("status", {}).get("payload_kg") == 0.025, "the payload")
    page.ask("/api/do", {"do": "payload", "kg": 0.0})
    status, said, _ = page.ask("/api/do", {"do": "payload", "kg": 4.0})
    assert status == 409 and "dynamics:" in said["error"]
