"""A process of its own that opens the files."""

from __future__ import annotations

import pyoxigraph
import pytest
from support.readers import World, quad

from triplewire.broker.readers import opened


def test_the_store_as_it_is(tmp_path):
    """With what was written before, while the writer has it open."""
    path = tmp_path / "s"
    store = pyoxigraph.Store(str(path))
    store.add(quad("a", "1"))
    first = opened.open_store(path)
    store.add(quad("a", "2"))
    assert len(first) == 1
    assert len(opened.open_store(path)) == 2


def test_tables_that_change_meanwhile(tmp_path, monkeypatch):
    """What is read then may lack something: it is opened again, but not for ever."""
    path = tmp_path / "s"
    store = pyoxigraph.Store(str(path))
    openings = []

    class Writing:
        times = 2

        @classmethod
        def read_only(cls, name):
            openings.append(name)
            if len(openings) <= cls.times:
                store.add(quad("a", str(len(openings))))
                store.flush()
            return "the store"

    monkeypatch.setattr(opened.pyoxigraph, "Store", Writing)
    assert opened.open_store(path) == "the store"
    assert len(openings) == 3
    Writing.times = 100
    with pytest.raises(OSError, match="change too often"):
        opened.open_store(path)
    assert len(openings) == 3 + opened._ATTEMPTS


def test_a_table_that_goes_meanwhile(tmp_path):
    """The writer moves everything to other files, again and again: each answer has all that was written."""
    world = World(tmp_path / "s", [])
    for number in range(60):
        world.write([quad("a", str(number))])
        if number % 3 == 0:
            world.store.flush()
        if number % 10 == 0:
            world.store.optimize()
        assert len(world.values("SELECT ?o { ?s ?p ?o }")) == number + 1
    world.pool.close()
    assert world.pool.statistics().forks == 1
