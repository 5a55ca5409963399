"""``picker up --sim --view`` in a headless Chromium: what is seen there is the graph's, what is pressed there moves its arm."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from types import SimpleNamespace

import numpy as np
import pytest
import view_pages
from patient import patiently
from ros_graph import Up, arm_of, control_socket, folder_of, process_tree
from scenarios.bench import HOME, at_home, until_phase, wait_until_up
from view_pages import DRAWN, fill, hides, press, shows, with_arm
from waiting import PATIENCE_S
from waiting import until as wait_until

from picker_dynamics.errors import GoalRefusedError

pytestmark = [pytest.mark.ros, pytest.mark.long, view_pages.NEEDED]

HANDLE = """axis => {
  const target = picker.stage.scene.children.find((one) => one.gizmo), { camera, canvas } = picker.stage;
  const place = target.position.clone(), far = place.distanceTo(camera.position);
  const size = far * Math.min(1.9 * Math.tan((Math.PI * camera.fov) / 360), 7) * target.gizmo.size / 4;
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const seen = (k) => {
    const at = place.clone();
    at[axis] += k * size;
    at.project(camera);
    return [left + (width * (1 + at.x)) / 2, top + (height * (1 - at.y)) / 2];
  };
  return [seen(0.4), seen(0.7)];
}"""
"""Where the arrow of an axis is on the screen, and a little farther along it."""

REFUSED_MS = 6000
"""So long a refusal stays on the page."""

LOST = """() => {
  const alarm = document.getElementById("alarm");
  picker.connection.on("pose", () => { if (alarm.hidden) window.told_ms = performance.now(); });
  new MutationObserver(() => { if (!alarm.hidden) window.lost_ms ??= performance.now(); }).observe(alarm, { attributes: true });
}"""
"""Notes when the last news came, and when the page said that it has no connection."""


@pytest.fixture(scope="module")
def up(domain, tmp_path_factory):
    """`picker up --sim --view` as a person starts it, but that nothing opens a browser."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("BROWSER", "true")
        with Up(tmp_path_factory.mktemp("up"), "--sim", "--view") as started:
            control = control_socket(started.directory, folder_of(), alive=lambda: started.process.poll() is None)
            with arm_of(control) as running:
                wait_until_up(running.client)
                found = wait_until(lambda: re.search(r"view: (http://127\.0\.0\.1:(\d+)/#(\S+))", started.said()), "the page")
                port, token = int(found[2]), found[3]
                door = SimpleNamespace(port=port, token=token)
                view = process_tree(started.process.pid)["picker_dynamics"]
                yield SimpleNamespace(
                    client=running.client, board=running.board, address=found[1], server=SimpleNamespace(door=door), view=view
                )


@pytest.fixture(scope="module")
def browser():
    with view_pages.chromium() as started:
        yield started


@pytest.fixture
def client(up):
    at_home(up.client, up.board)
    return up.client


@pytest.fixture
def pages(up, browser):
    """Opens pages."""
    with view_pages.Tabs(browser, up.address) as tabs:
        yield tabs


@pytest.fixture
def tabs(up, pages):
    """The same; afterwards nobody drives."""
    yield pages
    page = view_pages.Page(up.server)
    page.do("drive", over=True)
    page.do("leave")


def meanwhile(client, page):
    """A moment for both."""

    def step() -> None:
        page.wait_for_timeout(50)
        client.spin(0.02)

    return step


def pressed_until(page, press, reached, step) -> None:
    words = page.locator("#words")
    press()
    wait_until(reached, lambda: f"{words.inner_text()!r} is said; what was pressed for", step=step)


def angles(page) -> np.ndarray:
    """As they are written on the page [rad]."""
    return np.radians([float(text.rstrip("°")) for text in page.locator(".joint .value").all_inner_texts()])


def test_the_arm_is_drawn_and_its_angles_are_those_of_joint_states(up, client, tabs):
    page = with_arm(tabs())
    wait_until(lambda: page.evaluate(DRAWN) > 30, "a picture", step=meanwhile(client, page))
    client.move_through([1.5], [HOME + [0.4, 0.0, 0.1, 0.0, -0.3]], timeout_s=PATIENCE_S)
    wait_until(
        lambda: client.state is not None and np.abs(angles(page) - client.state).max() < np.radians(0.06),
        lambda: f"{angles(page)} as {client.state}",
        step=meanwhile(client, page),
    )
    assert page.locator("#source").inner_text() and page.locator(".swatch.truth").count() == 1
    assert all(url.startswith(up.address.partition("/#")[0]) for url in page.asked) and page.failed == []


def test_a_button_that_is_held_jogs_and_a_target_is_dragged_refused_in_the_gates_words_or_reached(client, tabs):
    page = with_arm(tabs())
    before = client.reference()
    press(page, "Tip to the left")
    wait_until(lambda: client.reference()[0] > before[0] + 0.03, "jogging", step=meanwhile(client, page))
    page.mouse.up()
    until_phase(client)

    fill(page, x="420", z="90")
    said = page.locator("#verdict.refused", has_text="shoulder needs").inner_text().removeprefix("would be refused: ")
    page.click("#go")
    shows(page, "#words li.error", said)
    fill(page, x="200", z="170")
    shows(page, "#verdict", "may be made")
    page.wait_for_timeout(REFUSED_MS + 500)
    assert page.locator("#verdict").is_visible(), "the end of an older refusal hides it"
    with pytest.raises(GoalRefusedError, match="driver"):
        client.move_through([1.0], [HOME])

    pressed_until(
        page, lambda: page.click("#home"), lambda: page.locator("#words li", has_text="done").count(), meanwhile(client, page)
    )
    page.check("#gizmo")
    page.locator("#scene").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    (x, y), (to_x, to_y) = page.evaluate(HANDLE, "z")
    height = float(page.input_value("#z"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(to_x, to_y, steps=5)
    page.mouse.up()
    wanted = float(page.input_value("#z"))
    assert abs(wanted - height) > 5.0
    shows(page, "#verdict", "may be made")
    shown = page.locator("#tip")

    def go() -> None:
        if float(page.input_value("#z")) != wanted:  # it follows the arm again after a motion that was taken
            page.fill("#z", str(wanted))
        page.click("#go")

    pressed_until(page, go, lambda: abs(float(shown.inner_text().split()[3]) - wanted) < 6.0, meanwhile(client, page))


def test_a_server_that_hangs_or_is_killed_is_said_within_a_second_and_one_that_comes_back_is_found(up, pages):
    page = with_arm(pages())
    page.evaluate(LOST)
    page.wait_for_timeout(500)
    os.kill(up.view, signal.SIGSTOP)
    try:
        shows(page, "#alarm", "this stop button is dead")
    finally:
        os.kill(up.view, signal.SIGCONT)
    assert page.evaluate("lost_ms - told_ms") < 1000.0
    hides(page, "#alarm")
    os.kill(up.view, signal.SIGKILL)
    killed_s = time.monotonic()
    shows(page, "#stop strong", "DEAD")
    assert time.monotonic() - killed_s < 1.0
    door = up.server.door
    words = ("view", "--no-browser", "--view-port", str(door.port), "--token", door.token)
    with subprocess.Popen(patiently("picker", *words), stdout=subprocess.PIPE, text=True) as again:
        try:
            assert up.address in again.stdout.readline()
            shows(page, "#alarm", "started anew")
            page.reload()
            with_arm(page).locator("#alarm").wait_for(state="hidden")
            assert page.locator("#stop strong").inner_text() == "STOP"
        finally:
            again.send_signal(signal.SIGTERM)
            again.wait(PATIENCE_S)
