"""Pages of the documentation, as they are and as the site has them: none is too long, each is in the menu, links hold."""

import os
import re
import subprocess
import sys

import pytest
import yaml
from places import ROOT, loaded
from waiting import PATIENCE_S

site = loaded(ROOT / "tools" / "site_pages.py")
WRITTEN = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("integrations/*.md")])
WORDS = 2500


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The site's pages."""
    made = tmp_path_factory.mktemp("site") / "pages"
    site.assemble(made)
    return made


def wrong_links(page) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        holds = there.exists() and (not anchor or anchor in site.titles(there.read_text(encoding="utf-8")))
        wrong += [] if holds or target.startswith("https:") else [target]
    return wrong


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert wrong_links(page) == []


def test_links_of_the_site_lead_somewhere_and_no_page_is_longer_than_a_person_reads(folder):
    for page in sorted(folder.glob("*.md")):
        assert wrong_links(page) == [], page.name
        words = re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8"))
        assert len(words) <= WORDS or page.name == "changelog.md", page.name  # looked up, and every change makes it longer


def test_the_menu_has_every_page_once(folder):
    class Loader(yaml.SafeLoader):
        """Takes what mkdocs's file has of Python as nothing."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    menu = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)["nav"]

    def listed(entry) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        return [page for one in (entry if isinstance(entry, list) else entry.values()) for page in listed(one)]

    assert sorted(listed(menu)) == sorted(page.name for page in folder.glob("*.md"))


def test_the_site_is_built_without_a_warning(folder):
    for package in ("material", "latex2mathml"):
        pytest.importorskip(package, reason="make docs installs it")
    (folder.parent / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), encoding="utf-8")
    (folder.parent / "tools").symlink_to(ROOT / "tools")
    (folder.parent / "build" / "docs").mkdir(parents=True)
    (folder.parent / "build" / "docs" / "pages").symlink_to(folder)
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(command, cwd=folder.parent, env=quiet, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    equations = (folder.parent / "build" / "docs" / "site" / "derivations.html").read_text(encoding="utf-8")
    assert "<math" in equations and "\\frac" not in equations


def test_the_reference_has_every_command_and_every_question_that_an_arm_answers(folder):
    commands = "".join(page.read_text(encoding="utf-8") for page in folder.glob("commands_*.md"))
    assert {"picker move", "picker servos scan", "picker identify fit"} <= set(re.findall(r"^#+ (.*)$", commands, re.M))
    arm = (folder / "python_arm.md").read_text(encoding="utf-8")
    assert {"simulated", "open", "move", "pick", "tip"} <= set(re.findall(r"^### (.*)$", arm, re.M))
    assert "- **straight**: the tool goes to `tip` on a straight line" in arm
