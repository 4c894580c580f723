"""What a client may do with graphs, and what it sees of a dataset."""

from __future__ import annotations

import pytest
from pyoxigraph import BlankNode, DefaultGraph, NamedNode

from triplewire.broker.errors import Forbidden
from triplewire.broker.rights import ALL, DEFAULT, NONE, OPEN, Access, Rights, Scope, name_of, visible

G, H = "urn:g", "urn:h"


def test_who_may_write_may_append():
    """Reading is a right of its own."""
    may = Rights(read=frozenset(), append=frozenset({G}), write=frozenset({H}))
    assert [may.may_append(name) for name in (G, H, DEFAULT)] == [True, True, False]
    assert [may.may_write(name) for name in (G, H)] == [False, True]
    assert not may.may_read(H)
    assert ALL.may_read(G) and ALL.may_append(G) and ALL.may_write(DEFAULT)
    assert not (NONE.may_read(G) or NONE.may_append(G) or NONE.may_write(G))


def test_rights_add_up():
    """Those of a client and of its groups."""
    one = Rights(frozenset({G}), None, frozenset())
    other = Rights(frozenset({H}), frozenset(), frozenset({G}))
    assert one | other == Rights(frozenset({G, H}), None, frozenset({G}))
    assert one | ALL == ALL


def test_streams_are_rights_of_their_own():
    """They add up as well, and say nothing of graphs."""
    one, other = Rights(publish=frozenset({"a"}), follow=frozenset()), Rights(publish=frozenset({"b"}))
    assert [(one | other).may_publish(name) for name in "abc"] == [True, True, False]
    assert (one.may_follow("a"), (one | other).may_follow("a")) == (False, True)
    assert ALL.may_publish("a") and ALL.may_follow("a")
    assert not (NONE.may_publish("a") or NONE.may_follow("a"))
    assert one == ALL, "of graphs they allow the same"


def test_graphs_by_their_names():
    """A blank node's name is nobody's."""
    assert name_of(DefaultGraph()) == DEFAULT
    assert name_of(NamedNode(G)) == G
    assert name_of(BlankNode("b")) == "_:b"


@pytest.mark.parametrize(
    ("given", "own", "union", "expected"),
    [
        ([(), ()], [(), ()], False, ((DEFAULT,), (G,))),
        ([(), ()], [(), ()], True, ((DEFAULT, G), (G,))),
        ([(), ()], [(G, H), ()], False, ((G,), ())),
        ([(), ()], [(), (G, H)], False, ((), (G,))),
        ([(), ()], [(H,), (H,)], True, ((DEFAULT, G), ())),
        ([(H, G), (H,)], [(G,), (G,)], False, ((G,), ())),
        ([(), (G,)], [(), ()], False, ((), (G,))),
        ([(H,), ()], [(), ()], True, ((), ())),
    ],
)
def test_the_dataset_that_is_seen(given, own, union, expected):
    """The request's lists stand for FROM; of either only what can be read is there."""
    assert visible(frozenset({DEFAULT, G}), given, own, union=union) == expected


def test_nothing_readable_is_nothing_seen():
    """Not the store's own dataset."""
    assert visible(frozenset(), [(), ()], [(), ()], union=True) == ((), ())


def test_scopes():
    """Whoever has no token at all where none is asked for may do everything."""
    OPEN.need(Scope.ADMIN)
    access = Access("lamp", frozenset({Scope.QUERY}))
    access.need(Scope.QUERY)
    with pytest.raises(Forbidden, match="update") as refused:
        access.need(Scope.UPDATE)
    assert (refused.value.code, refused.value.status) == ("insufficient_scope", 403)
