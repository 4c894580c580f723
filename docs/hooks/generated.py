# ruff: noqa: INP001 - MkDocs loads it by its path
"""MkDocs' hook: pages that are made at each build of what they tell about, so that they can't be stale."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

from command_line import command_line_page
from documents import changelog_page, security_page, with_readme
from settings_page import settings_page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[2]
_FOLDERS = ("broker", "clients", "conf", "gates", "jsap", "spu")


def on_startup(**_: object) -> None:
    """Lay out the folders as the import package `triplewire`, by links: mkdocstrings reads files, and looks for them when it begins."""
    package = ROOT / "build" / "typing" / "triplewire"
    package.mkdir(parents=True, exist_ok=True)
    for folder in _FOLDERS:
        link = package / folder
        if not link.exists():
            link.symlink_to(ROOT / folder)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in (
        ("reference/settings.md", settings_page(ROOT)),
        ("reference/command-line.md", command_line_page()),
        ("explanation/security.md", security_page(ROOT)),
        ("changelog.md", changelog_page(ROOT)),
    ):
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put the README's sections where a page asks for them: `<!-- README: heading of the section -->`."""
    return with_readme(markdown, ROOT)
