"""The page for everybody: names and roles of all controls."""

import pytest
import view_pages
from view_pages import with_arm

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), view_pages.NEEDED]

CONTROLS = {"button", "checkbox", "combobox", "slider", "spinbutton", "textbox", "link", "DisclosureTriangle"}
"""Roles of what is pressed, chosen or typed into; browsers call a ``summary`` the last."""


def test_the_browser_knows_a_name_and_a_role_of_every_control_and_the_keyboard_reaches_it(opened):
    page = with_arm(opened())
    page.keyboard.press("Escape")
    page.locator("#again").wait_for()
    for space in ("tip", "joint"):
        page.get_by_label("what is moved").select_option(space)
        tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        found = []
        for node in tree:
            about = {one["name"]: one["value"].get("value") for one in node.get("properties", ())}
            role = "" if node["ignored"] else node["role"]["value"]
            if role in CONTROLS or (role not in ("", "RootWebArea") and about.get("focusable")):
                found.append((role, node.get("name", {}).get("value", "").strip(), "focusable" in about or "disabled" in about))
        assert len(found) > 25 and all(name and reached and role not in ("generic", "none") for role, name, reached in found)
