"""A simulated arm with its view, and a headless Chromium, for the tests of one file."""

import pytest
import view_pages
from view_pages import Page, with_arm

from picker_dynamics import Arm
from picker_dynamics.scripting.view import server

TOUR = """arm: picker
joints: {base: deg, shoulder: deg, elbow: deg, wrist: deg, scissor: deg}
steps:
- {pose: aside, at: {base: 20}}
- {pose: back, at: {base: 0}, seconds: 5}
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """An arm and its view, time passing, in a folder with a taught motion."""
    folder = tmp_path_factory.mktemp("tours")
    (folder / "berries.yaml").write_text(TOUR)
    with pytest.MonkeyPatch.context() as patched, Arm.simulated() as arm:
        patched.chdir(folder)
        with view_pages.served(arm.view(browser=False)) as view:
            yield arm, view


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the view of ``unhurried`` finds taught motions."""
    return tmp_path_factory.mktemp("tours")


@pytest.fixture(scope="module")
def unhurried(folder, tmp_path_factory):
    """An arm whose time passes as fast as it can, and its view, behind a page that is empty."""
    page = tmp_path_factory.mktemp("page")
    (page / "index.html").write_text("<!doctype html>")
    with pytest.MonkeyPatch.context() as patched, Arm.simulated(real_time=False) as arm:
        patched.setattr(server, "PAGE", page)
        patched.chdir(folder)
        with view_pages.served(arm.view(browser=False)) as view:
            yield arm, view


@pytest.fixture(scope="module")
def browser():
    with view_pages.chromium() as started:
        yield started


@pytest.fixture
def opened(browser, shown):
    """Opens pages; afterwards nobody drives, nothing is stopped, and the pause after a cancelled motion is over."""
    with view_pages.Tabs(browser, shown[1].address) as tabs:
        yield tabs
    page = Page(shown[1].server)
    for asked in ({"do": "drive", "over": True}, {"do": "reset"}, {"do": "enable"}, {"do": "leave"}):
        page.ask("/api/do", asked)
    page.done("drive", over=True)
    page.do("leave")


@pytest.fixture
def page(opened):
    """One that knows where the arm is."""
    return with_arm(opened())
