"""The page for everybody: names and roles of all controls, contrast in both themes, and nothing that jumps about."""

from __future__ import annotations

import time

import pytest
import view_pages
from view_pages import page_until, shows, with_arm

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), view_pages.NEEDED]

CONTROLS = {"button", "checkbox", "combobox", "slider", "spinbutton", "textbox", "link", "DisclosureTriangle"}
"""Roles of what is pressed, chosen or typed into; browsers call a ``summary`` the last."""

CONTRAST = """() => {
  const dot = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const pen = dot.getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, ground) => [0, 1, 2].map((k) => top[3] * top[k] + (1 - top[3]) * ground[k]);
  const light = (colour) => {
    const [r, g, b] = colour.map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, two) => {
    const [low, high] = [light(one), light(two)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const grounds = (element) => {
    if (!element) return [[255, 255, 255]];
    const style = getComputedStyle(element), own = read(style.backgroundColor);
    const stripes = (style.backgroundImage.match(/(rgba?|color)\\([^()]*\\)/g) ?? []).map(read);
    const below = own[3] === 1 ? [own.slice(0, 3)] : grounds(element.parentElement).map((ground) => over(own, ground));
    return stripes.length ? below.flatMap((ground) => stripes.map((stripe) => over(stripe, ground))) : below;
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
    if (!text || element.closest(":disabled, script, .hidden, .skip")) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(element), ink = read(style.color);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const worst = Math.min(...grounds(element).map((ground) => ratio(over(ink, ground), ground)));
    found.push({ text: text.slice(0, 40), ratio: worst, needed: large ? 3 : 4.5 });
  }
  return found;
}"""
"""Contrast of each text that is to be seen with the worst of what may lie below it [WCAG 2.2, 1.4.3]."""

PLACES = """() => {
  const all = [...document.querySelectorAll("button, input, select, summary, canvas, h2, .joint, #below")];
  const places = () => all.map((one) => one.checkVisibility() && one.getBoundingClientRect());
  const first = places();
  window.jumps = {};
  picker.connection.on("pose", () => requestAnimationFrame(() => places().forEach((place, k) => {
    if (place && first[k] && ["x", "y", "width", "height"].every((side) => Math.abs(place[side] - first[k][side]) < 0.5)) return;
    if (place || first[k]) jumps[all[k].id || all[k].ariaLabel || all[k].textContent] = [first[k], place];
  })));
}"""
"""Notes what is not where it was, each time that something was told."""


def all_of_it(page):
    """With everything that is shown now and then."""
    page.fill("#x", "420")
    page.locator("#verdict.refused").wait_for()
    page.keyboard.press("Escape")
    page.locator("#again").wait_for()
    return page


def test_the_browser_knows_a_name_and_a_role_of_every_control_and_the_keyboard_reaches_it(opened):
    page = all_of_it(with_arm(opened()))
    for space in ("tip", "joint"):
        page.get_by_label("what is moved").select_option(space)
        tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        told = [
            (
                node["role"]["value"],
                node.get("name", {}).get("value", ""),
                {one["name"]: one["value"] for one in node.get("properties", ())},
            )
            for node in tree
            if not node["ignored"]
        ]
        controls = [(role, name) for role, name, about in told if role in CONTROLS]
        assert len(controls) > 25 and not [one for one in controls if not one[1].strip()]
        focusable = [
            (role, name) for role, name, about in told if about.get("focusable", {}).get("value") and role != "RootWebArea"
        ]
        assert not [one for one in focusable if not one[1].strip() or one[0] in ("generic", "none")]
        assert not [role for role, _, about in told if role in CONTROLS and not ({"focusable", "disabled"} & set(about))]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_is_told_from_its_ground(opened, theme):
    page = all_of_it(with_arm(opened(context=opened.context(color_scheme=theme))))
    found = page.evaluate(CONTRAST)
    assert len(found) > 60 and not [one for one in found if one["ratio"] < one["needed"]]
    page.evaluate("document.getElementById('alarm').hidden = false, document.getElementById('alarm').textContent = 'gone'")
    page.evaluate("document.getElementById('stop').classList.add('dead')")
    assert not [one for one in page.evaluate(CONTRAST) if one["ratio"] < one["needed"]]


@pytest.mark.parametrize("width", [1100, 360])
def test_nothing_jumps_while_the_arm_moves(opened, shown, width):
    arm, _ = shown
    page = with_arm(opened(width))
    shows(page, "#phase", "holding")
    shows(page, "#facts", "payload")
    page.click("#drive")
    shows(page, "#drive", "You drive")
    page.wait_for_timeout(300)  # fonts, and curves that fit themselves in
    page.evaluate(PLACES)
    begin_s = time.monotonic()
    for base in (0.5, -0.3, 0.2):
        page.evaluate("to => picker.connection.ask({ do: 'joints', to })", {"base": base})
        page_until(page, lambda base=base: abs(arm.q[0] - base) < 0.02, "the motion")
    page.wait_for_timeout(max(0.0, 1e3 * (begin_s + 5.0 - time.monotonic())))
    jumps = page.evaluate("jumps")
    assert jumps == {}, sorted(jumps)
