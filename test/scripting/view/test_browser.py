"""The page in a headless Chromium, on an arm that is simulated in this process: what is to be seen, pressed, dragged and typed.

Waits are long: without a graphics card, on a busy machine, a picture takes seconds.
"""

import numpy as np
import pytest
import view_pages
from arm_fixtures import servos
from view_pages import DRAWN, fill, hides, page_until, press, shows, with_arm

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), view_pages.NEEDED]

RED = """() => {
  const red = [];
  picker.stage.scene.traverse((part) => part.material?.emissive?.getHex() && red.push(part.material.emissive.getHex()));
  return new Set(red).size;
}"""
"""Colours in which links shine."""


def go_home(page, arm) -> None:
    """And stand there: words of an earlier motion may still be on the page."""
    page.click("#home")
    page_until(page, lambda: np.allclose(arm.held, servos().home, atol=1e-6), "the arm at home")
    page.wait_for_timeout(300)
    shows(page, "#phase", "holding")  # a jog that begins in a motion is refused until it is let go


def test_the_arm_is_drawn_where_it_is_and_nothing_else_is_asked(page, shown):
    arm, view = shown
    page_until(page, lambda: page.evaluate(DRAWN) > 30, "a picture of the arm", patience_s=120.0)
    shoulder = page.locator(".joint", has_text="shoulder").locator(".value").inner_text()
    assert float(shoulder.rstrip("°")) == pytest.approx(arm.q[1] * 57.29578, abs=0.2)
    origin = view.address.partition("/#")[0]
    assert all(url.startswith(origin) for url in page.asked) and view.address.partition("#")[2] not in " ".join(page.asked[1:])
    assert page.failed == []


def test_home_a_refused_target_in_the_gates_words_and_the_joint_it_is_about(page, shown):
    go_home(page, shown[0])
    fill(page, x="330", y="-60", z="110")
    shows(page, "#verdict.refused", "would be refused: shoulder needs")
    page_until(page, lambda: page.evaluate(RED) == 1, "the joint's link in red")
    fill(page, x="240", y="0", z="160")
    shows(page, "#verdict:not(.refused)", "may be made")
    page_until(page, lambda: page.evaluate(RED) == 0, "no link in red")
    page.click("#go")
    page_until(page, lambda: abs(shown[0].tip[0] - 0.24) < 0.003, "the tip there")


def test_a_tip_out_of_reach_is_marked_where_it_was_asked_for(page):
    marks = "picker.stage.scene.children.filter((one) => one.visible && one.renderOrder === 4)"
    marked = f"() => {marks}.map((one) => one.position.toArray())"
    fill(page, x="430", y="60", z="200")
    shows(page, "#verdict.refused", "out of reach")
    assert page.evaluate(marked) == [[0.43, 0.06, 0.2]]
    fill(page, x="240", y="0", z="160")
    shows(page, "#verdict:not(.refused)", "may be made")
    assert page.evaluate(marked) == []


def test_a_joint_s_number_shows_first_and_sends_with_enter_and_the_gripper_has_two_buttons(page, shown):
    go_home(page, shown[0])
    page.click("#tab-joints")
    number = page.get_by_label("wrist, target in °, as a number")
    number.fill("-30")
    shows(page, "#verdict", "may be made")
    assert abs(shown[0].q[3] + 0.8) < 0.01, "nothing is sent yet"
    number.press("Enter")
    page_until(page, lambda: abs(shown[0].q[3] - np.deg2rad(-30)) < 0.02, "the motion")
    page.click("#tab-move")
    for button, at in (("Close", 1), ("Open", 0)):
        page.get_by_role("button", name=button, exact=True).click()
        page_until(page, lambda at=at: abs(shown[0].held[4] - shown[0].known.grips()[at]) < 1e-3, button)


def test_the_values_under_the_pointer_are_told_of_all_joints(page):
    page.wait_for_timeout(1500)
    page.locator(".curve").nth(1).locator(".u-over").hover()
    shows(page, "#curves-at", "torque, N·m")
    told = page.locator("#curves-key output").all_inner_texts()
    assert len(told) == 5 and all(float(text) == float(text) for text in told)


def test_stop_by_space_wherever_the_focus_is_then_reset(page):
    page.focus("#x")
    page.keyboard.press("Space")
    shows(page, "#hardware", "STOPPED")
    page.click("#home", force=True)  # it looks disabled, and says why
    shows(page, "#words li.error", "refused: hardware: stopped")
    page.click("#reset")
    page_until(page, lambda: page.locator("#enable").is_enabled(), "the way on")
    page.click("#enable")
    hides(page, "#again")


def test_a_slider_by_keys_shows_first_and_sends_with_enter(page, shown):
    page.click("#tab-joints")
    slider = page.locator(".joint", has_text="base").get_by_role("slider")
    slider.focus()
    before = shown[0].q[0]
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    shows(page, "#verdict", "may be made")
    assert abs(shown[0].q[0] - before) < 0.01, "nothing is sent yet"
    page.keyboard.press("Enter")
    page_until(page, lambda: abs(shown[0].q[0] - before) > 0.05, "the motion")


def test_jogging_ends_with_the_button(page, shown):
    go_home(page, shown[0])
    before = shown[0].tip[2]
    press(page, "Tip up")
    page_until(page, lambda: shown[0].tip[2] > before + 0.004, "jogging")
    page.mouse.up()
    shows(page, "#phase", "holding")
    rests = shown[0].tip[2]
    page.wait_for_timeout(700)
    assert abs(shown[0].tip[2] - rests) < 0.003


def test_a_tour_is_run_watched_and_ended(page, shown):
    page.click("#tab-tours")
    page.get_by_role("button", name="Run berries").click()
    shows(page, "#tour-what", "step 2 of 2: back")
    assert page.locator("#tour-bar").evaluate("one => one.value") >= 0.5
    shows(page, "#words li", "berries: done")
    hides(page, "#tour")
    assert shown[0].q[0] == pytest.approx(0.0, abs=0.02)
    page.fill("#times", "50")
    page.get_by_role("button", name="Run berries").click()
    shows(page, "#tour-what", "of 100")
    page.get_by_role("button", name="End it").click()
    shows(page, "#words li.warn", "berries: ended in step")
    hides(page, "#tour")


def test_a_second_page_watches_and_takes_over(opened):
    first = with_arm(opened())
    first.click("#drive")
    shows(first, "#drive", "You ")
    second = with_arm(opened())
    shows(second, "#drive", "take over")
    second.click("#home", force=True)
    shows(second, "#words li.error", "another page drives")
    assert "another page" not in first.locator("#words").inner_text() + first.locator("#verdict").inner_text(), "it is the one"
    second.click("#drive")
    shows(second, "#drive", "You ")
    shows(first, "#drive", "take over")


def test_a_page_of_another_start_says_so_and_its_stop_is_dead(opened, shown):
    page = opened(address=shown[1].address[:-4] + "xxxx")
    shows(page, "#alarm", "this stop button is dead")
    shows(page, "#alarm", "open the address that it prints")
    assert page.locator("#stop strong").inner_text() == "DEAD"


def test_a_phone_has_it_all_within_its_width(opened):
    page = with_arm(opened(width=360, height=720))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#shown").get_attribute("open") is None and page.locator("#shown").bounding_box()["height"] < 60
    picture, words = page.locator("#canvas").bounding_box(), page.locator("#readout").bounding_box()
    assert words["y"] >= picture["y"] + picture["height"] - 1 and picture["height"] > 200, "words are below the picture"
    stop = page.locator("#stop").bounding_box()
    assert stop["width"] > 250 and stop["y"] + stop["height"] <= 720
    page.locator("#jog-pad").scroll_into_view_if_needed()
    assert page.locator("#stop").bounding_box() == stop, "it stays"
