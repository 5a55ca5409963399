"""The page for everybody: names and roles of all controls, contrast of all text, and the keyboard's way through it."""

import pytest
import view_pages
from view_pages import fill, shows, with_arm

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), view_pages.NEEDED]

CONTROLS = {"button", "checkbox", "combobox", "slider", "spinbutton", "textbox", "link", "tab", "DisclosureTriangle"}
"""Roles of what is pressed, chosen or typed into; browsers call a ``summary`` the last."""


CONTRAST = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (text) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].map((x) => x / 255);
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((x, k) => a * x + (1 - a) * below[k]);
  const light = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => colour.reduce((sum, x, k) => sum + [0.2126, 0.7152, 0.0722][k] * light(x), 0);
  const ratio = (a, b) => {
    const [dark, bright] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
  };
  const grounds = (element) => {
    const style = getComputedStyle(element), colour = rgba(style.backgroundColor);
    if (colour[3] === 1) return [colour.slice(0, 3)];
    const below = element.id === "scene" ? [[0, 0, 0], [1, 1, 1]] : grounds(element.parentElement);
    return below.map((one) => over(colour, one));
  };
  const low = [];
  for (const element of document.body.querySelectorAll("*:not(script, option)")) {
    const field = element.matches("input:not([type=checkbox], [type=range]), select");
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("").trim();
    const seen = element.checkVisibility({ visibilityProperty: true }) && !element.closest(".hidden, .skip, svg");
    if (!(field || text) || !seen) continue;
    const parts = [null, ...(element.placeholder ? ["::placeholder"] : [])];
    const said = parts.map((part) => rgba(getComputedStyle(element, part).color));
    const least = Math.min(...said.flatMap((one) => grounds(element).map((ground) => ratio(over(one, ground), ground))));
    if (least < 4.5) low.push(`${element.id || element.className}: ${text || element.value}: ${least.toFixed(2)}`);
  }
  return low;
}"""
"""Texts with a contrast below that of WCAG 2.2 AA, 4.5; what lies over the picture may have black or white behind it."""

OUTLINED = """() => {
  const [element, style] = [document.activeElement, getComputedStyle(document.activeElement)];
  const name = element === document.body ? "body" : element.id || element.textContent;
  return [name, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_the_contrast_that_wcag_asks_for(opened, scheme):
    page = with_arm(opened(context=opened.context(1280, 860, color_scheme=scheme)))
    page.click("#about summary")
    fill(page, x="900", y="0", z="160")
    shows(page, "#verdict.refused", "would be refused")
    tabs = page.get_by_role("tab")
    for number in range(tabs.count()):
        tabs.nth(number).click()
        assert page.evaluate(CONTRAST) == []
    page.keyboard.press("Escape")
    page.locator("#again").wait_for()
    assert page.evaluate(CONTRAST) == []


def test_the_keyboard_reaches_each_tab_and_its_panel_and_shows_where_it_is(opened):
    page = with_arm(opened())
    page.focus("#tab-move")
    page.keyboard.press("ArrowLeft")
    shows(page, "#set-panel", "payload")
    page.keyboard.press("ArrowRight")
    reached = {}
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.update([page.evaluate(OUTLINED)])
    reached.pop("body", None)  # between the page's end and its begin
    assert {"home", "open", "x", "canvas", "stop", "words"} <= reached.keys() and all(reached.values()), reached


def test_the_browser_knows_a_name_and_a_role_of_every_control_and_the_keyboard_reaches_it(opened):
    page = with_arm(opened())
    page.keyboard.press("Escape")
    page.locator("#again").wait_for()
    page.get_by_label("what is moved").select_option("joint")
    for tab in ("move", "joints", "tours", "set"):
        page.click(f"#tab-{tab}")
        tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        found = []
        for node in tree:
            about = {one["name"]: one["value"].get("value") for one in node.get("properties", ())}
            role = "" if node["ignored"] else node["role"]["value"]
            if role in CONTROLS or (role not in ("", "RootWebArea") and about.get("focusable")):
                found.append((role, node.get("name", {}).get("value", "").strip(), "focusable" in about or "disabled" in about))
        assert len(found) > 15 and all(name and reached and role not in ("generic", "none") for role, name, reached in found)
