"""Many changes as one."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import given
from support.deltas import World, examples, histories
from support.readers import odd_iri, quad

from triplewire.broker.errors import MalformedRequest
from triplewire.broker.model import QuadDelta
from triplewire.broker.readers.backlog import Backlog, encode_change, write_change


@examples(100)
@given(histories())
def test_one_change_is_all_of_them(history):
    """From any of the datasets between to the last, and again where they had been seen already."""
    for start in range(len(history.deltas)):
        store = pyoxigraph.Store()
        store.extend(history.worlds[start].quads)
        for graph in history.worlds[start].graphs:
            store.add_graph(graph)
        change = encode_change(history.deltas[start:])
        for _ in range(2):
            write_change(store, change)
            assert World.of(store) == history.worlds[-1]


def test_what_is_kept():
    """All deltas up to the bound, in order; or one, where it only counts that there was any."""
    deltas = [QuadDelta(frozenset([quad("a", str(n))]), frozenset()) for n in range(4)]
    backlog = Backlog(6)
    assert [backlog.add(delta) for delta in deltas] == [True, True, True, False]
    assert backlog.take() == []
    assert backlog.add(deltas[0]) and backlog.add(deltas[1])
    assert backlog.take() == deltas[:2]
    assert backlog.take() == []
    last = Backlog(None)
    assert all(last.add(delta) for delta in deltas)
    assert len(last.take()) == 1
    assert last.take() == []


def test_a_term_that_no_text_can_name():
    """Is refused: no other quad is made of it."""
    with pytest.raises(MalformedRequest):
        encode_change([QuadDelta(frozenset([quad("a", odd_iri())]), frozenset())])
