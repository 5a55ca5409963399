"""Tours and picks that a page asks for, of an arm simulated in the process, by HTTP."""

import time

import numpy as np
import pytest
from pytest import approx
from view_pages import Page, Told
from waiting import until

HEAD = "arm: picker\njoints: {base: deg, shoulder: deg, elbow: deg, wrist: deg, scissor: deg}\nsteps:\n"
TOUR = HEAD + "- {pose: left, at: {base: 25}}\n- payload: 10\n- pause: 0.2\n- {pose: right, at: {base: -25}}\n- payload: 0\n"
LONG = HEAD + "- {pose: left, at: {base: 40}, seconds: 30}\n"
HEAVY = HEAD + "- {pose: left, at: {base: 25}}\n- payload: 900\n"
BERRY = [0.26, 0.08, 0.17]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tours")
    for name, text in {
        "two berries.yaml": TOUR,
        "long.yaml": LONG,
        "heavy.yaml": HEAVY,
        "other.yaml": TOUR.replace("arm: picker", "arm: rrp"),
        "settings.yaml": "secret: 1\n",
        "tour.txt": TOUR,
        "picker_1.mcap": "",
    }.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def page(unhurried):
    page = Page(unhurried[1].server)
    page.told = Told(page, "status")
    until(lambda: page.do("drive")[0] == 200, "the lease, after a stop")
    yield page
    for asked in ("leave", "cancel", "reset", "enable"):
        page.do(asked)
    until(lambda: over(page) and held(page), "rest")
    page.do("payload", kg=0.0)
    page.do("leave")
    page.told.close()


def held(page) -> bool:
    return page.told.phase in ("holding", "inactive")


def over(page) -> bool:
    return not page.told.newest.get("tour", {}).get("name")


def said(page, *words: str) -> bool:
    return any(all(word in text for word in words) for text in page.told.said)


def test_what_can_be_made_again_is_listed_and_of_other_files_nothing_is_told(page, folder):
    found = page.ask("/api/tours")[1]
    listed = [("heavy", 2), ("long", 1), ("two berries", 5), ("picker_1.mcap", None)]
    assert found["folder"] == str(folder) and [(one["name"], one["steps"]) for one in found["tours"]] == listed


def test_a_tour_is_made_and_how_far_it_is_is_told(page, unhurried):
    seen: list[tuple[str, float]] = []
    assert page.done("tour", name="two berries")["said"].startswith("two berries: 5 steps, ")
    until(lambda: "tour" in page.told.newest, "news of it")

    def look() -> None:
        time.sleep(0.005)  # the arm is simulated in this process
        seen.append((page.told.newest["tour"]["what"], page.told.newest["tour"]["share"]))

    until(lambda: said(page, "two berries: done"), "the end of the tour", step=look)
    whats = [what for what, _ in seen if what.startswith("step")]
    assert "step 1 of 5: left" in whats and "step 4 of 5: right" in whats
    shares = [share for what, share in seen if what.startswith("step")]
    assert shares == sorted(shares) and shares[0] < shares[-1] < 1.0
    assert np.degrees(unhurried[0].held[0]) == approx(-25.0, abs=0.1) and unhurried[0].payload == 0.0
    until(lambda: over(page), "the end in the picture")


def test_a_tour_with_a_step_that_may_not_be_made_is_refused_before_anything_moves(page, unhurried):
    before = unhurried[0].held
    answer = page.refused("tour", name="heavy")
    assert "step 2 (payload 900 g) cannot be made, so none is" in answer["error"] and answer["subject"] == "shoulder"
    assert unhurried[0].held == approx(before, abs=1e-9)


@pytest.mark.parametrize("name", ["nothing", "settings", "other", "../tours0/long", "../tours0/picker_1.mcap"])
def test_other_files_are_no_tours(page, name):
    assert "secret" not in page.refused("tour", name=name)["error"]


def test_a_tour_ends_with_a_stop_and_the_arm_holds(page, unhurried):
    page.done("joints", to={"base": 0.0})
    until(lambda: abs(unhurried[0].held[0]) < 1e-3 and held(page), "the begin")
    page.done("tour", name="long")
    until(lambda: unhurried[0].held[0] > 0.02, "the motion")
    assert "long is under way: end it first" in page.refused("home")["error"]
    page.ask("/api/stop", {})
    until(lambda: said(page, "long: ended in step 1 of 1: left") and over(page), "its end")
    until(lambda: held(page), "rest")
    assert 0.005 < unhurried[0].q[0] < np.radians(39.0)


def test_a_berry_is_picked_from_the_page_and_where_it_may_not_be_placed_nothing_moves(page, unhurried):
    page.done("home")
    until(lambda: held(page) and said(page, "done"), "home")
    assert page.done("pick", at=BERRY, mass=0.02)["said"].startswith("pick at (260, 80, 170) mm: 7 steps")
    until(lambda: said(page, "pick at (260, 80, 170) mm: done"), "the pick")
    assert unhurried[0].payload == 0.02 and unhurried[0].tip == approx([0.26, 0.08, 0.20], abs=0.005)
    assert "place refused, nothing moves; the target" in page.refused("place", at=[0.6, 0.0, 0.1])["error"]
