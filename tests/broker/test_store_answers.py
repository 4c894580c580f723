"""Graphs written whole, and answers written as bytes, over each kind of store."""

from __future__ import annotations

import gc
import json
import threading

import pyoxigraph
import pytest
from pyoxigraph import BlankNode
from support.stores import DATA, EX, PROLOGUE, File, ask, written

from triplewire.broker.errors import GraphNotFound, NotAcceptable, RequestTooLarge, without_frames
from triplewire.broker.model import GraphEdit, GraphWrite, Query, QueryForm, Update
from triplewire.broker.store import graph_update
from triplewire.broker.wire.media import GRAPHS, JSON, RESULTS, TURTLE, formats_of, negotiate
from triplewire.broker.wire.results import parse_results

pytestmark = pytest.mark.xdist_group("store")


# --- the Graph Store Protocol -----------------------------------------------------------------------------------

TRIPLES = f'_:x <{EX}p> "new" .\n_:x <{EX}q> _:x .\n'


@pytest.mark.parametrize(
    ("edit", "graph", "created", "values"),
    [
        (GraphEdit.MERGE, "g", False, ["1", "1", "new"]),
        (GraphEdit.REPLACE, "g", False, ["new"]),
        (GraphEdit.DROP, "g", False, []),
        (GraphEdit.MERGE, "new", True, ["new"]),
        (GraphEdit.REPLACE, "new", True, ["new"]),
        (GraphEdit.MERGE, None, False, ["0", "new"]),
        (GraphEdit.REPLACE, None, False, ["new"]),
        (GraphEdit.DROP, None, False, []),
    ],
)
def test_a_graph_is_written(any_store, edit, graph, created, values):
    """Merged, replaced or dropped; whether it is new; the other graphs are not touched."""
    iri = graph and EX + graph
    assert any_store.write_graph(GraphWrite(edit, iri, TRIPLES)) is created
    pattern = "{ ?s :p ?o }"
    found = ask(any_store, f"SELECT ?o {pattern if iri is None else f'{{ GRAPH <{iri}> {pattern} }}'}")
    assert found == values
    assert ask(any_store, "SELECT ?o { GRAPH :h { ?s :p ?o } }") == ["2"]
    if iri:
        assert any_store.has_graph(iri) is (edit is not GraphEdit.DROP)


def test_a_graph_that_is_not_there(any_store):
    """Can't be dropped, and asking does not make it."""
    assert not any_store.has_graph(f"{EX}nowhere")
    with pytest.raises(GraphNotFound, match="nowhere"):
        any_store.write_graph(GraphWrite(GraphEdit.DROP, f"{EX}nowhere"))
    assert not any_store.has_graph(f"{EX}nowhere")


def test_an_empty_graph_is_there(memory):
    """PUT of no triples makes it, PUT of none over it keeps it, DELETE ends it."""
    for created in (True, False):
        assert memory.write_graph(GraphWrite(GraphEdit.REPLACE, f"{EX}e")) is created
        assert memory.has_graph(f"{EX}e")
    memory.write_graph(GraphWrite(GraphEdit.DROP, f"{EX}e"))
    assert not memory.has_graph(f"{EX}e")


def test_a_graph_write_is_an_update():
    """One text, so that one path leads to every kind of store."""
    write = GraphWrite(GraphEdit.REPLACE, "http://x/g", "<a> <b> <c> .")
    assert graph_update(write, there=True) == (
        "DROP SILENT GRAPH <http://x/g> ; CREATE SILENT GRAPH <http://x/g> ; "
        "INSERT DATA { GRAPH <http://x/g> { <a> <b> <c> . } }"
    )


# --- answers as bytes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", [*RESULTS, *GRAPHS], ids=lambda format_: format_.media_type)
def test_answers_in_each_format(any_store, format_):
    """Oxigraph's own readers find in it what was asked for."""
    if format_ in RESULTS:
        sink = written(any_store, "SELECT ?s ?o { GRAPH :g { ?s :p ?o } }", format_)
        assert sink.form is QueryForm.SELECT
        assert sink.getvalue().count(f"{EX}b".encode()) == 1
        if format_.media_type != "text/csv":
            read = pyoxigraph.parse_query_results(sink.getvalue(), format=format_.writer)
            assert sorted(str(row["s"]) for row in read) == [f"<{EX}a>", f"<{EX}b>"]
    else:
        sink = written(any_store, "CONSTRUCT { ?s :p ?o } WHERE { GRAPH :g { ?s :p ?o } }", format_)
        assert sink.form.is_graph
        read = {quad.triple for quad in pyoxigraph.parse(sink.getvalue(), format=format_.writer)}
        assert {triple.subject.value for triple in read} == {f"{EX}a", f"{EX}b"}
    assert sink.format is format_


def test_ask_is_written(any_store):
    """As a boolean."""
    sink = written(any_store, "ASK { :a :p 0 }", JSON)
    assert (sink.form, json.loads(sink.getvalue())) == (QueryForm.ASK, {"head": {}, "boolean": True})


def test_blank_nodes_keep_their_names(memory):
    """From answer to answer, and in each form of an answer, so that a subscription can compare them."""
    memory.apply(Update("INSERT DATA { _:x <p> [] }"))
    query = Query("SELECT ?s ?o { ?s ?p ?o }")
    (first,) = memory.evaluate(query).rows
    assert all(isinstance(term, BlankNode) for term in first)
    assert memory.evaluate(query).rows == (first,)
    sink = File()
    memory.answer(query, lambda _: JSON, sink)
    assert parse_results(sink.getvalue()).rows == (first,)


@pytest.mark.parametrize("text", ["SELECT * { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }", "ASK {}"])
def test_not_acceptable_leaves_nothing_behind(memory, capfd, text):
    """An answer that no format suits dies on the thread that made it: Oxigraph's objects must."""
    errors = []

    def read():
        try:
            memory.answer(Query(text), lambda form: negotiate("text/html", formats_of(form)), File())
        except NotAcceptable as error:
            errors.append(without_frames(error))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert [error.status for error in errors] == [406]
    errors.clear()
    gc.collect()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("text", ["SELECT * { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }"])
def test_a_sink_that_wants_no_more_ends_the_answer(memory, text):
    """With its own error."""
    memory.apply(Update(f"{PROLOGUE} INSERT DATA {{ {DATA} }}"))

    class Full(File):
        def write(self, _):
            raise RequestTooLarge("enough")

    with pytest.raises(RequestTooLarge, match="enough"):
        memory.answer(Query(text), lambda form: TURTLE if form.is_graph else JSON, Full())
