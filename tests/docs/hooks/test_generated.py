"""The folders are laid out as the package for mkdocstrings."""

from __future__ import annotations

from docs.conftest import ROOT


def test_the_package_is_laid_out_by_links():
    """Doing it again changes nothing."""
    from generated import on_startup

    for _ in range(2):
        on_startup(command="build", dirty=False)
    assert (ROOT / "build" / "typing" / "triplewire" / "clients" / "sparql.py").samefile(
        ROOT / "clients" / "sparql.py"
    )
