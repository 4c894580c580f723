"""Stores of each kind with reader processes; none may leave one behind."""

from __future__ import annotations

import pytest
from support.readers import DATA, World, children


@pytest.fixture(params=["memory", "disk"])
def kind(request):
    """Of both."""
    return request.param


@pytest.fixture
def make(kind, tmp_path):
    """Makes worlds, and sees to it that none leaves a process behind."""
    made = []

    def world(quads=DATA, **options):
        made.append(World(tmp_path / f"store{len(made)}" if kind == "disk" else None, quads, **options))
        return made[-1]

    before = children()
    yield world
    for one in made:
        one.pool.close()
    assert children() == before


@pytest.fixture
def world(make):
    """One of each kind, with a few quads."""
    return make()


@pytest.fixture
def memory():
    """Worlds in memory only."""
    made = []

    def world(quads=DATA, **options):
        made.append(World(None, quads, **options))
        return made[-1]

    before = children()
    yield world
    for one in made:
        one.pool.close()
    assert children() == before
