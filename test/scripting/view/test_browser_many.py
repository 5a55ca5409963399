"""Many pages of one browser, and a gamepad."""

import pytest
import view_pages
from view_pages import hides, page_until, shows, with_arm

from picker_dynamics.scripting.view.server import ViewServer

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), view_pages.NEEDED]

TABS = 20

UNDRAWN = """
  const get = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
    return kind.startsWith("webgl") ? null : get.call(this, kind, ...more);
  };
"""
"""As a browser without WebGL: twenty pictures drawn by software are more than a machine has to spare."""

PAD = """
  window.pads = [];
  navigator.getGamepads = () => pads;
  const tell = (kind, gamepad) => dispatchEvent(Object.assign(new Event(kind), { gamepad }));
  window.press = (axes, ...down) => {
    const buttons = Array.from({ length: 12 }, (_, k) => ({ pressed: down.includes(k) }));
    const pad = { id: "pad of a test", connected: true, axes, buttons };
    const came = !pads.length;
    window.pads = [pad];
    if (came) tell("gamepadconnected", pad);
  };
  window.unplug = () => {
    const [pad] = pads;
    window.pads = [];
    tell("gamepaddisconnected", pad);
  };
"""
SHOULDER, STOP_BUTTON = 4, 1


@pytest.fixture
def plain(opened):
    """A context for small pages without a picture; all else works."""
    made = opened.context(700, 700)
    made.add_init_script(UNDRAWN)
    return made


@pytest.fixture
def server(shown) -> ViewServer:
    return shown[1].server


def test_a_stop_in_the_twentieth_tab_of_a_browser(opened, plain, server):
    tabs = [opened(context=plain) for _ in range(TABS)]
    last = with_arm(tabs[-1])
    assert len(server.viewed.channel.readers) == 1
    last.click("#home")
    shows(last, "#words li", "done")
    last.keyboard.press("Escape")
    for tab in (last, tabs[0]):
        shows(tab, "#hardware", "STOPPED")
    with_arm(tabs[0]).click("#reset")
    shows(tabs[0], "#words li.error", "another page drives")
    last.click("#reset")
    page_until(last, lambda: last.locator("#enable").is_enabled(), "the way on")
    last.click("#enable")
    hides(tabs[0], "#again")


def test_a_gamepad_moves_while_it_is_held_here_and_not_beyond(opened, plain, shown):
    arm, _ = shown
    plain.add_init_script(PAD)
    page = with_arm(opened(context=plain))
    done = page.locator("#words li", has_text="done")
    before = done.count()  # words of the tabs before are told a new one, too
    page.click("#home")
    page_until(page, lambda: done.count() > before, "home")
    lets_go = {
        "the shoulder button is let go": "press([0, 0, 0, -1])",
        "it is unplugged": "unplug()",
        "the page is blurred": "document.hasFocus = () => false, dispatchEvent(new Event('blur'))",
    }
    for why, act in lets_go.items():
        page.evaluate(f"delete document.hasFocus, press([0, 0, 0, -1], {SHOULDER})")
        height = arm.tip[2]
        page_until(page, lambda height=height: arm.tip[2] > height + 0.004, "jogging")
        page.evaluate(act)
        shows(page, "#phase", "holding")
        rests = arm.tip[2]
        page.wait_for_timeout(400)
        assert abs(arm.tip[2] - rests) < 0.003, why
    page.evaluate(f"delete document.hasFocus, press([0, 0, 0, 0], {STOP_BUTTON})")
    shows(page, "#hardware", "STOPPED")
