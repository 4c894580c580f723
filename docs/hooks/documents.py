# ruff: noqa: INP001 - MkDocs loads it by its path
"""What the documents in the root of the repository say, for pages of the book."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ASKED = re.compile(r"^<!-- README: (.+) -->$", re.MULTILINE)


def section(text: str, heading: str) -> str:
    """What stands below a heading of the second level, to the next of that level.

    Raises:
        KeyError: there is no such heading.
    """
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise KeyError(heading)
    return found.group(1).strip()


def with_readme(markdown: str, root: Path) -> str:
    """`markdown` with the README's sections in place of `<!-- README: heading -->`, one level up.

    Raises:
        KeyError: the README has no such heading.
    """
    if not _ASKED.search(markdown):
        return markdown
    readme = (root / "README.md").read_text(encoding="utf-8")
    return _ASKED.sub(
        lambda asked: re.sub(r"^##", "#", section(readme, asked.group(1)), flags=re.MULTILINE), markdown
    )


def security_page(root: Path) -> str:
    """SECURITY.md, under a name that says what it is in the book."""
    text = (root / "SECURITY.md").read_text(encoding="utf-8")
    return text.replace("# Security\n", "# What security promises\n", 1)


def changelog_page(root: Path) -> str:
    """CHANGELOG.md as it is."""
    return (root / "CHANGELOG.md").read_text(encoding="utf-8")
