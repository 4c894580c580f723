"""The dataset, over each kind of store: what is asked, what is written, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Variable
from support.stores import DATA, EX, PROLOGUE, File, ask, embedded, written

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import (
    BrokerError,
    MalformedRequest,
    RequestError,
    RequestTooLarge,
    SparqlSyntaxError,
    StoreError,
    UnsupportedOperation,
)
from triplewire.broker.model import Bindings, GraphEdit, GraphWrite, Query, Update
from triplewire.broker.store import named_node
from triplewire.broker.wire.media import JSON
from triplewire.broker.wire.results import parse_results

pytestmark = pytest.mark.xdist_group("store")


# --- queries ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bindings"),
    [
        ("SELECT ?o ?s { ?s :p ?o }", Bindings(("o", "s"), ((Literal(0), NamedNode(f"{EX}a")),))),
        ("SELECT ?x ?o { :a :p ?o }", Bindings(("x", "o"), ((None, Literal(0)),))),
        ("SELECT ?o { ?s :p ?o VALUES ?x { 1 2 } }", Bindings(("o",), ((Literal(0),),) * 2)),
        ("ASK { :a :p 0 }", Bindings(("boolean",), ((Literal(True),),))),
        ("ASK { :a :p 9 }", Bindings(("boolean",), ((Literal(False),),))),
        (
            "CONSTRUCT { ?s :q 1 } WHERE { ?s :p ?o VALUES ?x { 1 2 } }",
            Bindings(
                ("subject", "predicate", "object"), ((NamedNode(f"{EX}a"), NamedNode(f"{EX}q"), Literal(1)),)
            ),
        ),
        (
            "DESCRIBE :a",
            Bindings(
                ("subject", "predicate", "object"), ((NamedNode(f"{EX}a"), NamedNode(f"{EX}p"), Literal(0)),)
            ),
        ),
    ],
)
def test_the_answer_of_each_form(any_store, text, bindings):
    """SELECT is a bag of rows, ASK one row, a graph each triple once."""
    assert any_store.evaluate(Query(PROLOGUE + text)) == bindings


@pytest.mark.parametrize(
    ("default", "named"),
    [(["g"], []), (["g", "h"], []), ([], ["h"]), (["g"], ["h"]), (["g"], ["g", "h"]), (["x"], ["x"])],
)
@pytest.mark.parametrize("pattern", ["?s :p ?o", "GRAPH ?g { ?s :p ?o }", "?s :p ?o GRAPH ?g { ?s ?q ?x }"])
def test_the_dataset_of_a_request_is_from(any_store, pattern, default, named):
    """The same as FROM and FROM NAMED; and it wins over them (SPARQL 1.1 Protocol, 2.1.4)."""
    clauses = " ".join([*(f"FROM :{name}" for name in default), *(f"FROM NAMED :{name}" for name in named)])
    graphs = {
        "default_graphs": tuple(EX + name for name in default),
        "named_graphs": tuple(EX + name for name in named),
    }
    expected = ask(any_store, f"SELECT ?s ?o ?g {clauses} {{ {pattern} }}")
    assert ask(any_store, f"SELECT ?s ?o ?g {{ {pattern} }}", **graphs) == expected
    assert ask(any_store, f"SELECT ?s ?o ?g FROM :i FROM NAMED :i {{ {pattern} }}", **graphs) == expected


def test_the_union_as_default_graph():
    """A setting; FROM and the request's dataset go before it."""
    store = embedded(union_default_graph=True)
    store.apply(Update(f"{PROLOGUE} INSERT DATA {{ {DATA} }}"))
    assert ask(store, "SELECT ?o { :a :p ?o }") == ["0", "1", "2"]
    assert ask(store, "SELECT ?o { :a :p ?o }", default_graphs=(f"{EX}g",)) == ["1"]


def test_relative_iris_and_prefixes(any_store):
    """Against the settings' base, unless the text has its own; rdf, rdfs, owl and xsd are declared."""
    any_store.apply(Update('INSERT DATA { <r> a rdfs:Class ; rdfs:label "1"^^xsd:int }'))
    assert ask(any_store, "SELECT ?s { ?s a rdfs:Class }") == ["http://localhost/r"]
    assert ask(any_store, f"BASE <{EX}> SELECT ?o {{ <a> :p ?o }}") == ["0"]
    assert ask(any_store, "SELECT ?o { </r> rdfs:label ?o }") == ["1"]
    any_store.apply(Update(f"BASE <{EX}> DELETE DATA {{ <a> <p> 0 }}"))
    assert ask(any_store, "SELECT ?o { :a :p ?o }") == []


def test_the_columns_of_select_star(memory):
    """In the order of the text."""
    assert memory.evaluate(Query("SELECT * { ?z ?y ?x }")).vars == ("z", "y", "x")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT * { ?s ?p }", 1, 19),
        ("SELECT ?x\n{ ?s ?p ?o\n  FILTER( }", 3, 12),
        ("SELECT * {\n ?s nope:p ?o }", 2, 11),
        ("ASK { ?s ?p ?o ", 1, 16),
    ],
)
def test_a_syntax_error_has_its_place(memory, text, line, column):
    """Line and column of the sender's text, and what stands there."""
    with pytest.raises(SparqlSyntaxError) as caught:
        memory.evaluate(Query(text))
    assert (caught.value.line, caught.value.column) == (line, column)
    rest = text.split("\n")[line - 1][column - 1 :].strip()
    assert (f"near {rest!r}" if rest else "at the end") in caught.value.description
    assert caught.value.code == "parsing failed"
    assert len(caught.value.description) < 500


@pytest.mark.parametrize(
    "text", ["INSERT DATA { :a :p }", "SELECT * { ?s ?p ?o }", "CLEAR", "DELETE WHERE { ?s ?p ?o"]
)
def test_what_is_no_update_is_refused(any_store, text):
    """By every store, with SEPA's code, and nothing has changed."""
    before = ask(any_store, "SELECT * { ?s ?p ?o }")
    with pytest.raises(RequestError) as caught:
        any_store.apply(Update(PROLOGUE + text))
    assert (caught.value.code, caught.value.status) == ("parsing failed", 400)
    assert ask(any_store, "SELECT * { ?s ?p ?o }") == before


@pytest.mark.parametrize(
    "text", ["", "SELECT", "SELECT ?x { ?x", "INSERT DATA {}", "nonsense", "ASK { ?s ex:p ?o }"]
)
def test_what_is_no_query_is_refused(any_store, text):
    """By both ways to an answer, before a byte is written."""
    sink = File()
    for way in (any_store.evaluate, lambda query: any_store.answer(query, lambda _: JSON, sink)):
        with pytest.raises(RequestError) as caught:
            way(Query(text))
        assert (caught.value.code, caught.value.status) == ("parsing failed", 400)
    assert sink.getvalue() == b""


def test_a_text_on_the_wrong_path_is_told_so(memory):
    """An update where a query is expected, and the other way round."""
    with pytest.raises(SparqlSyntaxError, match="this is an update, where a query is expected"):
        memory.evaluate(Query("INSERT DATA {}"))
    with pytest.raises(SparqlSyntaxError, match="an update is expected here"):
        memory.apply(Update("SELECT * {}"))


@pytest.mark.parametrize(
    "graph", ["", "relative", "http://x/ y", "http://x/<", "\ud800", "http://x/\ud800", "http://[/"]
)
def test_a_graph_that_is_no_absolute_iri_is_refused(any_store, graph):
    """Wherever a request names it; it must not break out of the text that it is put into."""
    requests = [
        lambda: any_store.evaluate(Query("ASK {}", (graph,))),
        lambda: any_store.evaluate(Query("ASK {}", (), (graph,))),
        lambda: any_store.apply(Update("INSERT {} WHERE {}", (graph,))),
        lambda: any_store.apply(Update("INSERT {} WHERE {}", (), (graph,))),
        lambda: any_store.has_graph(graph),
        lambda: any_store.write_graph(GraphWrite(GraphEdit.MERGE, graph)),
        lambda: named_node(graph),
    ]
    for request in requests:
        with pytest.raises(MalformedRequest, match="not an absolute IRI"):
            request()


# --- updates ----------------------------------------------------------------------------------------------------


def test_an_update_is_all_or_nothing(any_store):
    """Where a later operation fails, the earlier ones have not happened."""
    with pytest.raises(BrokerError):
        any_store.apply(Update(f"{PROLOGUE} INSERT DATA {{ :new :p 1 }} ; CREATE GRAPH :g"))
    assert ask(any_store, "SELECT ?s { ?s :p ?o }") == [f"{EX}a"]


def test_the_dataset_of_an_update(any_store):
    """using-graph-uri and using-named-graph-uri are honored by every store."""
    text = f"{PROLOGUE} INSERT {{ :new ?p ?o }} WHERE {{ ?s ?p ?o }} ; INSERT {{ ?g :has ?o }} WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}"
    any_store.apply(Update(text, (f"{EX}g",), (f"{EX}h",)))
    assert ask(any_store, "SELECT ?o { :new :p ?o }") == ["1"]
    assert ask(any_store, "SELECT ?s ?o { ?s :has ?o }") == [f"{EX}h 2"]


def test_load_and_service_are_refused(any_store):
    """No setting allows them; nothing is fetched."""
    with pytest.raises(UnsupportedOperation, match="load_hosts"):
        any_store.apply(Update("LOAD <http://127.0.0.1:9/>"))
    with pytest.raises(UnsupportedOperation, match="service_hosts"):
        any_store.evaluate(Query("ASK { SERVICE <http://127.0.0.1:9/> {} }"))


# --- limits and failures ----------------------------------------------------------------------------------------


def test_an_answer_in_memory_is_bounded():
    """By limits.answer_rows; as bytes it is not."""
    store = embedded(limits=LimitsConfig(answer_rows=2))
    store.apply(Update("INSERT DATA { <a> <b> 1, 2, 3 }"))
    assert len(store.evaluate(Query("SELECT ?o { ?s ?p ?o } LIMIT 2")).rows) == 2
    with pytest.raises(RequestTooLarge, match="more than 2 rows"):
        store.evaluate(Query("SELECT ?o { ?s ?p ?o }"))
    assert len(parse_results(written(store, "SELECT ?o { ?s ?p ?o }", JSON).getvalue()).rows) == 3


def test_a_graph_in_memory_is_bounded():
    """As rows are."""
    store = embedded(limits=LimitsConfig(answer_rows=2))
    store.apply(Update("INSERT DATA { <a> <b> 1, 2, 3 }"))
    with pytest.raises(RequestTooLarge):
        store.evaluate(Query("CONSTRUCT WHERE { ?s ?p ?o }"))


def test_a_query_that_fails_while_it_runs(memory):
    """An unknown function is the sender's doing."""
    with pytest.raises(RequestError, match="http://x/f") as caught:
        memory.evaluate(Query("SELECT (<http://x/f>(1) AS ?x) {}"))
    assert (caught.value.status, caught.value.code) == (400, "query_failed")


@pytest.mark.parametrize(
    "request_", [Query("ASK { ?s ?p '\ud800' }"), Update("INSERT DATA { <a> <b> '\ud800' }")]
)
def test_lone_surrogates_are_refused(memory, request_):
    """They are no Unicode text."""
    with pytest.raises(RequestError):
        (memory.evaluate if isinstance(request_, Query) else memory.apply)(request_)


# --- on disk ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_what_was_written_is_there_again(tmp_path, engine):
    """After a close and without one; the folder is made; relative names need not be."""
    folder = tmp_path / "deep" / "data"
    for number in range(3):
        store = embedded(data=str(folder), engine=engine)
        assert len(ask(store, "SELECT ?o { ?s ?p ?o }")) == number
        store.apply(Update(f"INSERT DATA {{ <a> <b> {number} }}"))
        store.close()
    assert embedded(data=str(folder), engine=engine).has_graph("http://x/") is False


def test_a_folder_that_is_in_use_or_none_is_told(tmp_path):
    """As an error of the store, which names the place."""
    first = embedded(data=str(tmp_path / "data"))
    with pytest.raises(StoreError, match="in use by another broker"):
        embedded(data=str(tmp_path / "data"))
    first.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        embedded(data=str(tmp_path / "file"))


def test_a_store_in_memory_needs_no_sync(memory):
    """Nothing to make safe."""
    memory.apply(Update("INSERT DATA { <a> <b> 1 }"))
    memory.sync()
    assert memory.evaluate(Query("ASK { <a> <b> 1 }")).rows == ((Literal(True),),)


def test_terms_are_given_as_values_where_there_is_a_place_for_them():
    """So that joins are planned by them; a blank node can't be said so, and is substituted."""
    store = embedded()
    store.apply(Update(f"{PROLOGUE} INSERT DATA {{ :a :p 1, 'x' . :b :p 1 . _:n :p 1 }}"))
    text = f"{PROLOGUE}SELECT ?s ?o {{ ?s :p ?o }}"
    place = text.index("{ ?s") + 1
    everything = store.evaluate(Query(text)).rows
    assert len(everything) == 4
    for name, column in (("s", 0), ("o", 1)):
        for term in {row[column] for row in everything}:
            expected = sorted(str(row) for row in everything if row[column] == term)
            for at in (place, None):
                found = store.evaluate(Query(text), [{Variable(name): term}], at)
                assert sorted(map(str, found.rows)) == expected
    asked = []
    query = store.dataset.store.query
    store.dataset._store = SimpleNamespace(
        query=lambda text, **options: asked.append((text, options)) or query(text)
    )
    for term in (NamedNode(f"{EX}a"), BlankNode("n")):
        store.evaluate(Query(text), [{Variable("s"): term}], place)
    assert f"VALUES (?s) {{ (<{EX}a>) }}" in asked[0][0]
    assert "substitutions" not in asked[0][1]
    assert asked[1][1]["substitutions"] == {Variable("s"): BlankNode("n")}
