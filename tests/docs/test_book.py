"""The book is built as `make docs` does it: no broken link, no page left out, nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from support.book_pages import headless_chromium

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.xdist_group("book")


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The built pages; every warning is an error."""
    site = tmp_path_factory.mktemp("book")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return site


def pages(book):
    return {
        path.relative_to(book).as_posix(): path.read_text(encoding="utf-8") for path in book.rglob("*.html")
    }


def test_every_page_is_there_and_the_generated_ones_say_something(book):
    """Those of the folder, and those that are made."""
    there = pages(book)
    written = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if "examples" not in path.parts
    }
    assert written < set(there)
    assert "scheduler.queue_size" in there["reference/settings.html"]
    assert "triplewire journal restore" in there["reference/command-line.html"]
    assert "on_first_results" in there["reference/python.html"]
    assert "What an attacker may do" in there["explanation/security.html"]
    assert "First notification" not in there["start.html"]
    assert "make run" in re.sub(r"<[^>]+>", "", there["start.html"])


def test_nothing_is_fetched_from_elsewhere(book):
    """No font, script, style or picture of another host: it works offline, and tells nobody who reads it."""
    loading = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=[\"']?([^\"'\s>]+)")
    for name, text in pages(book).items():
        elsewhere = [url for url in loading.findall(text) if re.match(r"(https?:)?//", url)]
        assert not elsewhere, (name, elsewhere)
    for path in book.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", path.read_text(encoding="utf-8")), path


def test_no_directive_is_left_as_text(book):
    """What mkdocstrings or the hooks did not understand would stand in the page."""
    for name, text in pages(book).items():
        shown = unescape(re.sub(r"<code.*?</code>", "", text, flags=re.DOTALL))
        assert "::: triplewire" not in shown, name
        assert "<!-- README" not in shown, name


def test_it_can_be_read_from_a_folder_in_light_and_dark(book):
    """As the system has it; the search finds, and nothing but files is asked for."""
    asked, backgrounds = [], {}
    with headless_chromium() as chromium:
        for scheme in ("light", "dark"):
            page = chromium.new_page(color_scheme=scheme)
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: asked.append(str(error)))
            page.goto((book / "index.html").as_uri())
            backgrounds[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
            page.locator("input.md-search__input").click()
            page.keyboard.type("restore to a time")
            found = page.locator(".md-search-result__link", has_text="restore to a time")
            found.first.wait_for(state="attached", timeout=20_000)
            page.close()
    assert backgrounds["light"] != backgrounds["dark"]
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))]
