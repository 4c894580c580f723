"""What of an update is judged by its text, and what its patterns see."""

from __future__ import annotations

import pytest
from support.stores import PROLOGUE, ask, embedded, fill

from triplewire.broker.errors import Forbidden, GraphNotFound, RequestError, UnsupportedOperation
from triplewire.broker.model import GraphEdit, GraphWrite, Update
from triplewire.broker.restriction import NOWHERE, only_named
from triplewire.broker.rights import DEFAULT, Rights

G, H = "http://example.org/g", "http://example.org/h"
# Reads and writes the default graph and :g, and adds to :box; :h is nobody's business.
MAY = Rights(frozenset({DEFAULT, G}), frozenset({"http://example.org/box"}), frozenset({DEFAULT, G}))


@pytest.fixture
def store():
    made = fill(embedded(load_hosts=("*",)))
    yield made
    made.close()


def change(store, text, may=MAY):
    return store.apply(Update(PROLOGUE + text, rights=may))


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { GRAPH :h { :a :p 2 } }",  # it is there already: that is not to be learned
        "INSERT DATA { GRAPH :h { :a :p 3 } }",
        "DELETE DATA { GRAPH :h { :a :p 2 } }",
        "DELETE DATA { GRAPH :h { :nobody :p 2 } }",
        "DELETE DATA { GRAPH :box { :a :p 2 } }",
        "INSERT { GRAPH :h { ?s ?p ?o } } WHERE { ?s ?p ?o }",
        "DELETE { GRAPH :h { ?s ?p ?o } } WHERE { ?s ?p ?o }",
        "INSERT DATA { :new :p 1 } ; INSERT DATA { GRAPH :h { :a :p 3 } }",
        "CLEAR ALL",
        "DROP SILENT NAMED",
        "CLEAR GRAPH :h",
        "DROP SILENT GRAPH :h",
        "DROP SILENT GRAPH :unknown",
        "CREATE GRAPH :h",
        "CREATE SILENT GRAPH :other",
        "COPY :h TO :g",
        "ADD SILENT :h TO :g",
        "COPY :g TO :h",
        "COPY :g TO :box",
        "MOVE :h TO :g",
        "ADD :g TO :h",
        "LOAD <http://localhost:9/x> INTO GRAPH :h",
    ],
)
def test_what_would_touch_a_forbidden_graph_is_refused_whole(store, text):
    """Nothing of it is done, whatever is in the graph."""
    before = set(store.dataset.store)
    with pytest.raises(Forbidden):
        change(store, text)
    assert set(store.dataset.store) == before


@pytest.mark.parametrize(
    ("text", "inserted", "deleted"),
    [
        ("INSERT DATA { GRAPH :box { :a :p 3 } }", 1, 0),
        (
            "DELETE { GRAPH :box { ?s :q ?o } } INSERT { GRAPH :box { :a :q 1 } } WHERE { OPTIONAL { ?s :q ?o } }",
            1,
            0,
        ),
        ("DELETE DATA { :a :p 0 } ; INSERT DATA { GRAPH :g { :a :p 0 } }", 1, 1),
        ("ADD :g TO :box", 2, 0),
        ("CLEAR GRAPH :g", 0, 2),
        ("MOVE DEFAULT TO :g", 1, 3),
        ("INSERT { :copy :p ?o } WHERE { GRAPH ?g { ?s :p ?o } }", 1, 0),
        ("INSERT { :copy :p ?o } WHERE { GRAPH :h { ?s :p ?o } }", 0, 0),
        ("INSERT { :copy :p ?o } USING :h WHERE { ?s :p ?o }", 0, 0),
        ("INSERT { :copy :p ?o } USING :h USING :g WHERE { ?s :p ?o }", 1, 0),
        ("INSERT { :copy :p ?o } USING NAMED :h WHERE { GRAPH ?g { ?s :p ?o } }", 0, 0),
        ("WITH :g INSERT { :copy :p ?o } WHERE { ?s :p ?o }", 1, 0),
        ("WITH :h INSERT { GRAPH :g { :copy :p ?o } } WHERE { ?s :p ?o }", 0, 0),
        ("WITH :h INSERT { GRAPH :g { :copy :p ?o } } WHERE { GRAPH ?g { ?s :p ?o } }", 1, 0),
        # A pattern that comes after a change is evaluated in a rehearsal.
        ("INSERT DATA { :x :q 7 } ; INSERT { :copy :p ?o } WHERE { GRAPH ?g { ?s :p ?o } }", 2, 0),
        ("INSERT DATA { :x :q 7 } ; INSERT { :copy :p ?o } WHERE { GRAPH :h { ?s :p ?o } }", 1, 0),
        (
            "INSERT DATA { :x :q 7 } ; INSERT { :copy :p ?o } WHERE { ?x :q 7 GRAPH <http://example.org/h> { ?s :p ?o } }",
            1,
            0,
        ),
        (
            "INSERT DATA { :x :q 7 } ; INSERT { :copy :q 1 } WHERE { FILTER EXISTS { GRAPH ?g { ?s :p 2 } } }",
            1,
            0,
        ),
        (
            "INSERT DATA { :x :q 7 } ; INSERT { :copy :q ?n } WHERE { SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s :p 2 } } }",
            2,
            0,
        ),
        ("INSERT DATA { :x :q 7 } ; INSERT { :copy :p ?o } USING :h WHERE { ?s :p ?o }", 1, 0),
        ("INSERT DATA { :x :q 7 } ; WITH :h INSERT { GRAPH :g { :copy :p ?o } } WHERE { ?s :p ?o }", 1, 0),
        (
            "INSERT DATA { :x :q 7 } ; INSERT { :copy :p ?o } USING NAMED :h USING NAMED :g WHERE { GRAPH ?g { ?s :p ?o } }",
            2,
            0,
        ),
    ],
)
def test_what_an_update_may_do_it_does(store, text, inserted, deleted):
    """Its patterns see what can be read, and nothing else."""
    delta = change(store, text)
    assert (len(delta.inserted), len(delta.deleted)) == (inserted, deleted)


def test_counts_tell_nothing_either(store):
    """What is counted is what can be read."""
    change(
        store,
        "INSERT DATA { :x :q 7 } ; INSERT { :c :n ?n } WHERE { SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } }",
    )
    assert ask(store, "SELECT ?n { :c :n ?n }") == ["2"]


@pytest.mark.parametrize("name", ["GRAPH:h", "graph:x", "GRAPHex:h"])
def test_a_name_that_the_store_may_read_as_the_keyword_is_refused(store, name):
    """`GRAPHex:h { .. }` is GRAPH and a name for Oxigraph, a name for the standard."""
    prefixes = "PREFIX ex: <http://example.org/> PREFIX graph: <http://example.org/> PREFIX GRAPHex: <urn:> "
    text = (
        f"{prefixes} INSERT DATA {{ :x :q 7 }} ; INSERT {{ :copy :p ?o }} WHERE {{ {name} {{ ?s :p ?o }} }}"
    )
    with pytest.raises(RequestError):
        change(store, text)
    assert ask(store, "SELECT ?o { :copy :p ?o }") == []


def test_what_is_refused_is_told():
    """With the name that is in the way."""
    with pytest.raises(UnsupportedOperation, match="graphs:a"):
        only_named("{ ?s ?p graphs:a }", "", "http://localhost/", ())


def test_the_pattern_with_its_graphs():
    """Variables have the graphs as their values, and other names lead nowhere."""
    text = only_named(
        "{ GRAPH ?g { ?s ?p 'GRAPH ?x' } GRAPH :h {} GRAPH :g {} }", PROLOGUE, "http://localhost/", {NOWHERE}
    )
    assert f"VALUES ?g {{ {NOWHERE} }} GRAPH ?g" in " ".join(text.split())
    assert text.count(str(NOWHERE)) == 3
    assert "'GRAPH ?x'" in text


@pytest.mark.parametrize("edit", GraphEdit)
def test_graph_store_operations(store, edit):
    """By the same rights; what can't be read is not told to be missing."""
    triple = "<urn:s> <urn:p> <urn:o> ."
    with pytest.raises(Forbidden):
        store.write_graph(GraphWrite(edit, H, triple, MAY))
    with pytest.raises(Forbidden):
        store.write_graph(GraphWrite(edit, "urn:unknown", triple, MAY))
    blind = Rights(frozenset(), frozenset(), None)
    answers = {store.write_graph(GraphWrite(edit, graph, triple, blind)) for graph in (H, "urn:unknown")}
    assert answers == {False}


def test_a_graph_that_can_be_read_is_told_to_be_missing(store):
    """As ever."""
    may = Rights(None, None, None)
    with pytest.raises(GraphNotFound):
        store.write_graph(GraphWrite(GraphEdit.DROP, "urn:unknown", "", may))


@pytest.mark.parametrize(
    "text", ["DROP GRAPH :{}", "CREATE GRAPH :{}", "INSERT DATA {{ :x :q 7 }} ; CLEAR GRAPH :{}"]
)
def test_whether_a_graph_is_there_is_told_to_those_who_may_read_it(text):
    """Others hear the same of one that is and one that is not."""
    blind, seeing = Rights(frozenset(), None, None), Rights()

    def told(may, graph):
        store = fill(embedded())
        try:
            change(store, text.format(graph), may)
        except RequestError as error:
            return error.description.replace(graph, "..")
        return "done"

    assert told(blind, "h") == told(blind, "unknown") == "done"
    assert told(seeing, "h") != told(seeing, "unknown")
