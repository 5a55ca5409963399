"""What a view does of what a page asks: of an arm simulated in the process, by HTTP, as the page does it."""

import time

import numpy as np
import pytest
from view_pages import Page, Told
from waiting import begun, until

from picker_dynamics.scripting.view.arm_view import ArmView
from picker_dynamics.sim.control_socket import ControlServer, Truth


@pytest.fixture
def page(unhurried):
    page = Page(unhurried[1].server)
    yield page
    for asked in ("reset", "enable", "leave"):
        page.do(asked)


@pytest.fixture
def told(page):
    return Told(page, "hello", "pose", "status")


def test_the_page_is_told_where_the_arm_is_and_that_this_is_the_truth(unhurried, told):
    arm, _ = unhurried
    pose = told.newest["pose"]
    assert pose["q"].keys() == {"state", "reference"} and len(pose["torque"]) == arm.description.n
    assert np.allclose(pose["tip"]["state"], arm.tip_at(pose["q"]["state"]), atol=1e-4)
    assert told.newest["status"]["provenance"] == "simulated, true"


def test_a_motion_is_checked_and_made_or_refused_in_the_gates_words_with_the_joint(page, told):
    found = page.ask("/api/check", {"do": "joints", "to": {"base": 0.4}})[1]
    assert found["possible"] and found["q"][0] == 0.4 and found["duration_s"] > 0.5 and len(found["way"]) > 10
    page.done("joints", to={"base": 0.4})
    until(lambda: abs(told.newest["pose"]["q"]["state"][0] - 0.4) < 0.02, "the motion")
    assert page.refused("tip", at=[0.9, 0.0, 0.2])["kind"] == "UnreachableError"
    asked = {"do": "joints", "to": {"shoulder": 0.0, "elbow": 0.0, "wrist": 0.0}}
    found = page.ask("/api/check", asked)[1]
    assert not found["possible"] and found["subject"] == "shoulder" and "N·m" in found["why"]
    page.ask("/api/do", asked)
    until(lambda: any(found["why"] in text for text in told.said), "the refusal")


def test_a_stop_latches_until_reset(page, told):
    assert "latched" in page.ask("/api/stop", {})[1]["said"]
    assert "refused: hardware: stopped" in page.refused("home")["error"]
    until(lambda: told.newest["status"]["stop_latched"] == "true", "the status")
    page.done("reset")
    assert "adopted" in page.done("enable", accept=True)["said"]
    until(lambda: any("accepted: the board" in text for text in told.said), "what was accepted")
    page.done("home")


def test_what_a_page_asked_before_somebody_stopped_reset_and_enabled_does_not_move_the_arm(page, told, unhurried):
    """Its request waits, as the process of the view stands still."""
    arm, controller = unhurried[0], unhurried[0].session.arm.session
    page.done("home")
    session = arm.session
    until(lambda: not session.under_way and session.controller["phase"] == "holding", "the arm at home")
    seen = page.seen
    for end in (controller.stop, controller.reset, lambda: controller.enable(False)):
        end()
    until(
        lambda: controller.newest.now_s > controller.gate.since_s and session.controller["phase"] == "holding", "an enabled arm"
    )
    before = arm.held
    for asked in ({"do": "joints", "to": {"base": 0.6}}, {"do": "reset"}, {"do": "enable"}, {"do": "payload", "kg": 0.02}):
        page.seen = seen
        assert "after this was asked: look at the arm, then ask again" in page.refused(asked.pop("do"), **asked)["error"]
    page.do("leave")
    second = Page(unhurried[1].server, "fedcba9876543210.02")
    second.done("drive")
    epoch, seen_s = page.seen.split()
    for asked, more, old, said in (
        ("jog", {"joints": {"base": 0.5}}, f"{epoch} {float(seen_s) - 0.5}", "s old, allowed 0.3 s"),
        ("drive", {"over": True}, seen, "after this was asked"),
        ("home", {}, "?", "the page does not say what it has seen"),
    ):
        page.seen = old
        assert said in page.refused(asked, **more)["error"]
    second.done("drive")  # it still does
    second.done("leave")
    np.testing.assert_allclose(arm.held, before, atol=1e-6)
    for asked in ("cancel", "leave", "jog"):
        assert page.ask("/api/do", {"do": asked}, X_Seen="?")[0] == 200
    page.done("joints", to={"base": 0.1})  # what it asks now


def test_a_second_page_watches_until_it_takes_over(page, unhurried, told):
    second = Page(unhurried[1].server, "fedcba9876543210.02")
    page.done("drive")
    said = second.refused("home")
    assert "another page drives" in said["error"] and said["subject"] == "page"
    page.do("payload", kg=0.0)
    until(lambda: "payload: 0.0 kg" in told.said[-1:], "what is told to all")
    assert not any("another page" in text for text in told.said), "that page is the one"
    assert second.ask("/api/stop", {})[0] == 200  # everybody's
    second.do("drive", over=True)
    page.refused("reset")
    second.done("reset")
    second.done("enable")
    second.do("leave")


def test_a_jog_moves_while_it_is_held_and_ends_when_it_is_not_said_again(page, told, unhurried, monkeypatch):
    monkeypatch.setattr("picker_dynamics.session.served.JOG_LATE_S", 5.0)  # a busy machine holds requests up
    arm, _ = unhurried
    page.done("home")  # a stop left it anywhere
    session = arm.session  # pages are told later, and a jog that begins while the arm moves is refused until it is let go
    until(lambda: not session.under_way and session.controller["phase"] == "holding", "the arm at home")
    before = arm.tip[1]

    def again() -> None:
        page.ask("/api/arm")  # it has seen the arm just now
        page.done("jog", linear=[0.0, 0.05, 0.0])
        time.sleep(0.03)  # fewer than a page may ask

    until(lambda: arm.tip[1] > before + 0.002, lambda: f"jogging: {told.said[-3:]}, {arm.tip}", step=again)
    until(lambda: told.phase == "holding", lambda: f"its end: {told.newest['status']}")


def test_payload_and_compensation_are_set(page, unhurried):
    arm, _ = unhurried
    page.do("payload", kg=0.025)
    assert arm.payload == 0.025
    page.do("payload", kg=0.0)
    page.done("compensation", mode="gravity")
    page.done("compensation", mode="full")


def test_where_the_tip_cannot_be_held_is_told(page):
    cells = page.ask("/api/region")[1]["cells"]
    assert len(cells) > 50 and all(len(cell) == 2 for cell in cells)


def test_a_script_s_own_arm_is_recorded_by_the_script(page):
    assert "with arm.record()" in page.refused("record", on=True)["error"]
    assert "nothing is being recorded" in page.refused("record", on=False)["error"]


def test_of_an_arm_on_a_virtual_board_the_truth_is_told_beside_the_model(unhurried, tmp_path, monkeypatch):
    session, n = unhurried[0].session, unhurried[0].description.n
    truth = Truth(0.0, time.monotonic(), *[np.full(n, 0.25)] * 6, 0.0, 0, 0, "", (), 0, 0.0, 0.0)
    told = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(truth).items()}
    board = ControlServer(tmp_path / "control", lambda _request: {"ok": True, **told})
    begun(board.serve_forever)
    call = session.call
    monkeypatch.setattr(session, "call", lambda what, **how: [str(tmp_path / "tty")] if what == "get" else call(what, **how))
    view = ArmView(unhurried[0].known, session)
    monkeypatch.setattr(view, "status", dict)
    there = Told(view.channel, "hello")

    def seen():
        view.look()
        return there.newest.get("pose", {}).get("q", {}).get("truth")

    try:
        until(seen, "the truth")
        assert seen() == [0.25] * n and there.newest["pose"]["tip"].keys() >= {"state", "truth"}
    finally:
        view.close()
        view.channel.close()
        board.shutdown()
        board.close()
