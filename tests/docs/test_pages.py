"""Each fenced block of the book is run, sent or read; `support/book_pages.py` says how."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.book_blocks import blocks_of
from support.book_pages import PageRun

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "examples" not in path.parts)
WITH_SPARK = {"tutorial.md", "howto/history.md"}

pytestmark = pytest.mark.xdist_group("book")


def _parameter(path):
    name = path.relative_to(DOCS).as_posix()
    marks = [pytest.mark.slow, pytest.mark.timeout(600)] if name in WITH_SPARK else []
    return pytest.param(path, id=name, marks=marks)


@pytest.mark.parametrize("path", [_parameter(path) for path in PAGES])
def test_a_page_does_what_it_says(path, tmp_path, monkeypatch):
    """From its first block to its last, as a reader would."""
    blocks = blocks_of(path.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    page = PageRun(tmp_path)
    try:
        for block in blocks:
            page.run(block)
    finally:
        page.close()


def test_no_fence_is_missed():
    """Each has an end and a language: what the runner does not see would not be run."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        fences = re.findall(r"^\s*```", text, re.MULTILINE)
        assert len(fences) == 2 * len(blocks_of(text)), path
