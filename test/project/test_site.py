"""The pages of the documentation: none is too long to read, and their links lead somewhere."""

import re

import pytest
from places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("integrations/*.md")])
TEXTS = {page: re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S) for page in PAGES}
WORDS = 2500


def anchors(text: str) -> set[str]:
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.M)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS[page]):
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert target.startswith("https:") or there.exists(), target
        assert not anchor or target.startswith("https:") or anchor in anchors(TEXTS[there]), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_no_longer_than_a_person_reads(page):
    assert len(re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8"))) <= WORDS
