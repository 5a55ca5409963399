"""The page in a headless Chromium, on an arm that is simulated in this process: what is to be seen, pressed, dragged and typed.

Waits are long: without a graphics card, on a busy machine, a picture takes seconds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import view_pages
from arm_fixtures import servos
from view_pages import DRAWN, fill, hides, page_until, press, shows, with_arm

from picker_dynamics import Arm

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), view_pages.NEEDED]

RED = """() => {
  const red = [];
  picker.stage.scene.traverse((part) => part.material?.emissive?.getHex() && red.push(part.material.emissive.getHex()));
  return new Set(red).size;
}"""
"""Colours in which links shine."""

CORNERS = """() => {
  const found = [];
  picker.stage.scene.traverse((part) => {
    if (!part.isMesh || !part.userData.colour) return;
    part.geometry.computeBoundingBox();
    const { min, max } = part.geometry.boundingBox;
    for (const corner of [min, max]) {
      const there = corner.clone().applyMatrix4(part.matrixWorld);
      found.push([...there.toArray(), ...there.project(picker.stage.camera).toArray()]);
    }
  });
  return found;
}"""
"""Two opposite corners of each link, in the root frame, and in the picture from -1 to 1."""

PIXELS = """reference => {
  const tick = document.querySelector("[data-what=reference] input");
  if (tick.checked !== reference) tick.click();
  return new Promise(resolve => requestAnimationFrame(() => setTimeout(() => {
    const { renderer, scene, camera } = picker.stage, canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [160, 120];
    renderer.render(scene, camera);
    const pen = canvas.getContext("2d");
    pen.drawImage(renderer.domElement, 0, 0, 160, 120);
    resolve([...new Uint32Array(pen.getImageData(0, 0, 160, 120).data.buffer)]);
  }, 500)));
}"""
"""Of the picture, with or without the reference."""

SPIKE = ((0.0, 0.0, 0.0), (0.02, 0.0, 0.0), (0.0, 0.02, 0.0), (0.0, 0.0, 0.3))
FACES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))
MESHED = """<robot name="meshed">
<link name="base"><visual><geometry><mesh filename="spike.stl"/></geometry></visual></link>
<link name="arm"><visual><geometry><mesh filename="spike.dae"/></geometry></visual>
<inertial><origin xyz="0 0 0.1"/><mass value="0.1"/>
<inertia ixx="3e-4" ixy="0" ixz="0" iyy="3e-4" iyz="0" izz="1e-5"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="2"/></joint></robot>"""
DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">{numbers}</float_array><technique_common>
<accessor source="#a" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>{faces}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>"""


def go_home(page, arm) -> None:
    """And stand there: words of an earlier motion may still be on the page."""
    page.click("#home")
    page_until(page, lambda: np.allclose(arm.held, servos().home, atol=1e-6), "the arm at home")
    page.wait_for_timeout(300)


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


def test_stop_by_space_wherever_the_focus_is_then_reset(page):
    page.focus("#x")
    page.keyboard.press("Space")
    shows(page, "#hardware", "STOPPED")
    page.click("#home")
    shows(page, "#words li.error", "stop is latched")
    page.click("#reset")
    hides(page, "#again")


def test_a_slider_by_keys_shows_first_and_sends_with_enter(page, shown):
    slider = page.locator(".joint", has_text="base").locator("input")
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
    assert page.get_by_role("button", name="Run other").is_disabled()
    shows(page, ".tour", "taught for the arm other")
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


def test_pick_here_is_refused_in_its_words_before_anything_moves_or_made(page, shown):
    go_home(page, shown[0])
    before = shown[0].held
    fill(page, x="260", y="80", z="170", mass="90")
    page.click("#pick")
    shows(page, "#words li.error", "pick refused, nothing moves; ")
    assert shown[0].held == pytest.approx(before, abs=1e-9)
    assert page.locator("#x").input_value() == "260", "what was refused stays"
    page.fill("#mass", "20")
    page.click("#pick")
    shows(page, "#tour-name", "pick at (260, 80, 170) mm")
    shows(page, "#words li", "pick at (260, 80, 170) mm: done")
    shows(page, "#facts", "payload 20 g")
    page.fill("#settings input >> nth=0", "0")
    page.keyboard.press("Enter")
    shows(page, "#facts", "payload 0 g")


def test_what_this_arm_has_not_cannot_be_set(page):
    hides(page, "#settings select")
    assert [label.strip() for label in page.locator("#settings label:visible").all_inner_texts()] == ["payload g"]


def test_a_recording_is_begun_and_ended_and_the_file_is_named(page):
    page.click("#record")
    shows(page, "#record", "End recording")
    named = page.locator("#record-what").inner_text().removeprefix("recording to ")
    page.click("#record")
    shows(page, "#words li", f"recorded: {named}")
    assert Path(named).read_text().startswith("t,q_base,")
    shows(page, "#record", "Record")


def test_a_second_page_watches_and_takes_over(opened):
    first = with_arm(opened())
    first.click("#drive")
    shows(first, "#drive", "You drive")
    second = with_arm(opened())
    shows(second, "#drive", "take over")
    second.click("#home")
    shows(second, "#words li.error", "another page drives")
    assert "another page" not in first.locator("#words").inner_text() + first.locator("#verdict").inner_text(), "it is the one"
    second.click("#drive")
    shows(second, "#drive", "You drive")
    shows(first, "#drive", "take over")


def test_a_page_of_another_start_says_so_and_its_stop_is_dead(opened, shown):
    page = opened(address=shown[1].address[:-4] + "xxxx")
    shows(page, "#alarm", "this stop button is dead")
    shows(page, "#alarm", "open the address that it prints")
    assert page.locator("#stop strong").inner_text() == "DEAD"


def test_a_lost_connection_is_said_and_found_again(page, shown):
    from picker_dynamics.scripting.view.server import ViewServer

    view = shown[1]
    port, token, viewed = view.server.door.port, view.server.door.token, view.server.viewed
    view.server.__exit__()
    shows(page, "#alarm", "this stop button is dead")
    viewed.channel.closed = False
    view.server = ViewServer(viewed, port=port, token=token).__enter__()
    hides(page, "#alarm")
    assert page.locator("#stop strong").inner_text() == "STOP"


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


def test_every_control_has_a_name_and_the_keyboard_reaches_it(page):
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, #canvas")].filter((one) => one.offsetParent &&
             !(one.getAttribute("aria-label") || one.labels?.length || one.textContent.trim())).map((one) => one.outerHTML)"""
    )
    unreachable = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, #canvas")].filter((one) => one.tabIndex < 0).length"""
    )
    assert nameless == [] and unreachable == 0


@pytest.fixture
def meshed(tmp_path):
    """A URDF of two links, one on the other, that point up: an STL, and a COLLADA file whose own up is z."""
    records = np.zeros(len(FACES), np.dtype([("numbers", "<f4", (4, 3)), ("attribute", "<u2")]))
    records["numbers"][:, 1:] = np.array(SPIKE)[list(FACES)]
    (tmp_path / "spike.stl").write_bytes(bytes(80) + np.uint32(len(FACES)).tobytes() + records.tobytes())
    numbers, faces = " ".join(map(str, np.ravel(SPIKE))), " ".join(map(str, np.ravel(FACES)))
    (tmp_path / "spike.dae").write_text(DAE.format(numbers=numbers, faces=faces))
    (tmp_path / "meshed.urdf").write_text(MESHED)
    return tmp_path / "meshed.urdf"


def test_an_arm_of_meshes_stands_as_ros_draws_it_and_all_of_it_is_in_the_picture(browser, meshed):
    with (
        Arm.simulated(meshed) as arm,
        view_pages.served(arm.view(browser=False)) as view,
        view_pages.Tabs(browser, view.address) as tabs,
    ):
        page = with_arm(tabs())
        page_until(page, lambda: len(page.evaluate(CORNERS)) == 4, "two meshes")
        page.wait_for_timeout(500)
        corners = np.array(page.evaluate(CORNERS))
        alone, tinted = (np.array(page.evaluate(PIXELS, reference)) for reference in (False, True))
    assert len(set(alone.tolist())) > 30 and np.mean(alone != tinted) < 0.002, "a ghost where the arm is"
    assert np.ptp(corners[:2, 2]) == pytest.approx(0.3, abs=1e-6) and np.ptp(corners[2:, 2]) == pytest.approx(0.3, abs=1e-6)
    assert corners[:, 2].min() == pytest.approx(0.0, abs=1e-6) and corners[:, 2].max() == pytest.approx(0.6, abs=1e-6)
    assert np.abs(corners[:, 3:5]).max() < 1.0
    assert page.failed == []
