"""The tests that cannot pass (skips.toml), and how pytest is told of them."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from w3c.results import Disagreement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from w3c.manifests import Case


@cache
def listed() -> dict[str, str]:
    """Their names and the reasons."""
    return tomllib.loads(Path(__file__).with_name("skips.toml").read_text(encoding="utf-8"))


def parametrize(cases: Iterable[Case], raises: type[Exception] = Disagreement) -> pytest.MarkDecorator:
    """One pytest case for each test; a listed one must fail by `raises`, and must not begin to pass unnoticed."""
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.name, marks=_marks(case.name, raises)) for case in cases]
    )


def _marks(name: str, raises: type[Exception]) -> list[pytest.MarkDecorator]:
    if name not in listed():
        return []
    return [pytest.mark.xfail(strict=True, raises=raises, reason=listed()[name])]


def parametrize_listed(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """One pytest case for each listed test."""
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.name) for case in cases if case.name in listed()]
    )
