"""The page for everybody: names and roles of all controls."""

from __future__ import annotations

import pytest
import view_pages
from view_pages import with_arm

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), view_pages.NEEDED]

CONTROLS = {"button", "checkbox", "combobox", "slider", "spinbutton", "textbox", "link", "DisclosureTriangle"}
"""Roles of what is pressed, chosen or typed into; browsers call a ``summary`` the last."""


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
