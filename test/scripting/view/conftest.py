"""A simulated arm with its view, and a headless Chromium, for the tests of one file."""

from __future__ import annotations

import threading

import pytest
import view_pages
from view_pages import Page

from picker_dynamics import Arm

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
    (folder / "other.yaml").write_text(TOUR.replace("arm: picker", "arm: other"))
    with pytest.MonkeyPatch.context() as patched, Arm.simulated() as arm:
        patched.chdir(folder)
        view = arm.view(browser=False)
        thread = threading.Thread(target=view.run, daemon=True)
        thread.start()
        yield arm, view
        view.close()
        thread.join()


@pytest.fixture(scope="module")
def browser():
    with view_pages.chromium() as started:
        yield started


@pytest.fixture
def opened(browser, shown):
    """Opens pages; afterwards nobody drives, and nothing is stopped."""
    with view_pages.Tabs(browser, shown[1].address) as tabs:
        yield tabs
    for asked in ({"do": "drive", "over": True}, {"do": "reset"}, {"do": "leave"}):
        Page(shown[1]._server).ask("/api/do", asked)  # noqa: SLF001
