"""Sections of the README are put where a page asks for them."""

from __future__ import annotations

import pytest
from docs.conftest import ROOT
from documents import changelog_page, section, security_page, with_readme


def test_a_section_ends_with_the_next_of_its_level():
    """Lower headings belong to it; what looks like one of another name does not."""
    text = "# A\n\n## One\n\nfirst\n\n### Part\n\nmore\n\n## One and a half\n\nsecond\n"
    assert section(text, "One") == "first\n\n### Part\n\nmore"
    assert section(text, "One and a half") == "second"
    with pytest.raises(KeyError):
        section(text, "Part")


def test_a_page_gets_what_it_asks_for(tmp_path):
    """One level up, as the page has the heading; other pages stay as they are."""
    (tmp_path / "README.md").write_text("# A\n\n## One\n\nfirst\n\n### Part\n", encoding="utf-8")
    assert with_readme("# Page\n\n<!-- README: One -->\n", tmp_path) == "# Page\n\nfirst\n\n## Part\n"
    assert with_readme("# Page\n", tmp_path / "nowhere") == "# Page\n"
    with pytest.raises(KeyError):
        with_readme("<!-- README: Two -->", tmp_path)


def test_the_documents_become_pages():
    """Under a title that says what it is."""
    assert security_page(ROOT).startswith("# What security promises\n")
    assert changelog_page(ROOT).startswith("# Changelog\n")
