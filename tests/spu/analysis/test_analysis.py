"""Single facts about the analysis, and what it says of the queries of SEPA's applications."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Variable

from triplewire.broker.model import QuadDelta, Query, QueryForm
from triplewire.jsap import Profile
from triplewire.spu.analysis import Graphs, analyse

EX = "http://e/"
PREFIXES = {"": EX}
ROOT = Path(__file__).parents[3]


def node(name):
    return NamedNode(EX + name)


def quad(subject, predicate, object_, graph=None):
    terms = [node(part) if isinstance(part, str) else part for part in (subject, predicate, object_)]
    return Quad(*terms, DefaultGraph() if graph is None else node(graph))


def of(text, default=(), named=(), **more):
    return analyse(Query(text, default, named), None, PREFIXES, **more)


def keys_of(text):
    """The keys of each occurrence, as names."""
    return [" ".join(key.value for key in found.keys) for found in of(text).occurrences]


# --- occurrences --------------------------------------------------------------------------------------------------


def test_a_pattern_meets_the_quads_it_could_have():
    (found,) = of("SELECT * { ?s :p ?s }").occurrences

    assert found.matches(quad("a", "p", "a"))
    assert not found.matches(quad("a", "p", "b"))
    assert not found.matches(quad("a", "q", "a"))
    assert not found.matches(quad("a", "p", "a", "g"))
    assert found.bindings(quad("a", "p", "a")) == {Variable("s"): node("a")}


def test_constants_are_those_that_the_store_holds():
    (found,) = of('SELECT * { ?s :p 01.50 , "1"^^<http://www.w3.org/2001/XMLSchema#byte> }').occurrences[:1]

    decimal = Literal("1.5", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#decimal"))
    assert found.object == decimal


@pytest.mark.parametrize(
    ("text", "default", "named", "union", "expected"),
    [
        ("SELECT * {?s ?p ?o}", (), (), False, Graphs(frozenset(), unnamed=True)),
        ("SELECT * {?s ?p ?o}", (), (), True, Graphs(None, unnamed=True)),
        ("SELECT * FROM :g {?s ?p ?o}", (), (), False, Graphs(frozenset({node("g")}))),
        ("SELECT * FROM :g {?s ?p ?o}", (), (), True, Graphs(None, unnamed=True)),
        ("SELECT * FROM NAMED :g {?s ?p ?o}", (), (), False, Graphs(frozenset())),
        ("SELECT * FROM :g {?s ?p ?o}", (EX + "h",), (), True, Graphs(frozenset({node("h")}))),
        ("SELECT * FROM :g {GRAPH :g {?s ?p ?o}}", (), (), False, Graphs(frozenset())),
        ("SELECT * {GRAPH :g {?s ?p ?o}}", (), (EX + "g",), False, Graphs(frozenset({node("g")}))),
        ("SELECT * {GRAPH ?g {?s ?p ?o}}", (), (), False, Graphs(None, variable=Variable("g"))),
        ("SELECT * {GRAPH ?g {?g ?p ?o}}", (), (), False, Graphs(None)),
    ],
)
def test_the_graphs_that_a_pattern_looks_into(text, default, named, union, expected):
    (found,) = of(text, default, named, union_default_graph=union).occurrences

    assert found.graphs == expected


def test_that_a_graph_is_there_matters_where_nothing_in_it_must_match():
    created = QuadDelta(frozenset(), frozenset(), frozenset({node("g")}))

    assert of("SELECT * { GRAPH ?g {} }").touched(created)
    assert of("SELECT * { GRAPH :g { OPTIONAL { ?s :p ?o } } }").touched(created)
    assert not of("SELECT * { GRAPH :h {} }").touched(created)
    assert not of("SELECT * { GRAPH ?g { ?s :p ?o OPTIONAL { ?s :q ?x } } }").touched(created)


def test_a_path_of_no_length_is_touched_by_the_nodes_of_the_graph():
    variable, constant = of("SELECT * { ?x :p* ?y }"), of("SELECT * { :a :p* ?y }")
    other, mine = quad("b", "q", "c"), quad("b", "q", "a")

    assert any(found.matches(other) for found in variable.occurrences)
    assert not any(found.matches(other) for found in constant.occurrences)
    assert any(found.matches(mine) for found in constant.occurrences)


def test_describe_follows_blank_nodes():
    found = of("DESCRIBE :a")

    assert any(o.matches(quad("a", "p", "b")) for o in found.occurrences)
    assert any(o.matches(quad(BlankNode("x"), "p", "b")) for o in found.occurrences)
    assert not any(o.matches(quad("b", "p", "a")) for o in found.occurrences)


# --- keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ?v { ?s :p ?v ; :q ?w }", ["s v", "s w"]),
        ("SELECT DISTINCT ?v { ?s :p ?v ; :q ?w }", ["v", ""]),
        ("SELECT * { ?s :p ?o OPTIONAL { ?s :q ?x } }", ["o s", "s"]),
        # ?c is sure in the end, and not where the OPTIONAL looks: a row with another ?c can go
        ("SELECT * { ?a :p ?b OPTIONAL { ?c :q ?b } ?c :r ?d }", ["a b", "b", "d"]),
        ("SELECT * { ?s :p ?o OPTIONAL { ?x :q ?o OPTIONAL { ?s :r ?x } } }", ["o", "o", ""]),
        ("SELECT * { ?s :p ?o MINUS { ?s :q ?x } }", ["o s", "s"]),
        # given ?g, the store would find it on both sides
        ("SELECT * { MINUS { ?s :p ?o } GRAPH ?g { ?s :q ?x } }", ["", ""]),
        ("SELECT * { ?s :p ?o FILTER NOT EXISTS { ?o :q ?x } }", ["o s", "o"]),
        ("SELECT * { { ?s :p ?o } UNION { ?s :q ?x } }", ["s", "s"]),
        ("SELECT * { ?s :p|:q ?o }", ["", ""]),
        ("SELECT * { ?s :p/:q ?o }", ["s", "o"]),
        ("SELECT * { ?s :p+ ?o }", [""]),
        ("SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s", ["s"]),
        ("SELECT (COUNT(*) AS ?n) { ?s :p ?o }", [""]),
        ("SELECT * { ?s :p ?o { SELECT ?s (COUNT(*) AS ?n) { ?s :q ?o } GROUP BY ?s } }", ["s", "s"]),
        ("SELECT * { ?s :p ?o { SELECT ?o { ?s :q ?o } } }", ["o", "o"]),
        ("SELECT * { GRAPH ?g { ?s :p ?o OPTIONAL { ?o :q ?x } } }", ["g o s", "g o"]),
        ("SELECT * { ?s :p <<( ?a :q ?b )>> }", ["s"]),
        ("SELECT * { ?s :p ?o BIND(STR(?o) AS ?t) }", ["o s"]),
        ("SELECT * { { ?a :p ?b FILTER(!BOUND(?k)) } ?k :q ?a }", ["a b", "a"]),
        ("SELECT * { ?s :p [ :q ?o ] }", ["s", "o"]),
    ],
)
def test_the_keys_of_each_occurrence(text, expected):
    found = keys_of(text)

    assert sorted(expected) == sorted(found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * { ?s :p ?o } LIMIT 1", "LIMIT or OFFSET"),
        ("SELECT REDUCED ?s { ?s :p ?o }", "REDUCED"),
        ("SELECT * { ?s :p ?o { SELECT ?s { ?s :q ?x } OFFSET 1 } }", "LIMIT or OFFSET"),
        ("SELECT * { ?s :p ?o BIND(NOW() AS ?t) }", "NOW()"),
        ("SELECT * { ?s :p ?o SERVICE <urn:x> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT (COUNT(*) AS ?n) { ?s :p ?o }", "an aggregate without group keys"),
        (
            "SELECT ?s (SAMPLE(?o) AS ?x) { ?s :p ?o } GROUP BY ?s",
            "SAMPLE depends on the order of evaluation",
        ),
        ("DESCRIBE :a", "DESCRIBE"),
        ("SELECT * { ?s :p ?o LATERAL { ?s :q ?x } }", "not understood: no pattern at 'LATERAL'"),
        ("SELECT * { ?s :p ?o {| :q ?x |} }", "not understood: an annotation at '{|'"),
        ("SELECT * { ?s :p ?o FILTER(?s<?o&&?s>?o) }", "not understood: a comparison or an IRI at '?o'"),
    ],
)
def test_why_a_query_is_evaluated_fully(text, reason):
    found = of(text)

    assert reason in found.wellness
    assert found.explain_rows().startswith("full: ")
    assert not any(o.keys for o in found.occurrences)


def test_what_is_not_understood_is_touched_by_anything():
    found = analyse(Query("SELECT nonsense \\ {"))

    assert found.anything
    assert found.touched(QuadDelta(frozenset({quad("a", "p", "b")}), frozenset()))
    assert found.form is None


# --- lifting and other texts ----------------------------------------------------------------------------------------


def test_queries_that_differ_in_constants_share_one():
    one = of('SELECT ?m { ?m :to <urn:a> ; :text "x"@en FILTER(?m != <urn:z>) }').lifted
    two = of('SELECT ?m { ?m :to <urn:b> ; :text "y"@en FILTER(?m != <urn:z>) }').lifted
    other = of('SELECT ?m { ?m :to <urn:b> ; :text "y"@en FILTER(?m != <urn:a>) }').lifted

    assert one.query == two.query != other.query
    assert one.constants == (NamedNode("urn:a"), Literal("x", language="en"))
    assert two.constants == (NamedNode("urn:b"), Literal("y", language="en"))


def test_a_forced_binding_in_the_columns_is_put_back():
    found = of("SELECT (<urn:a> AS ?to) ?m { ?m :to <urn:a> }").lifted

    assert "urn:a" not in found.query.sparql
    assert found.columns == (NamedNode("urn:a"), Variable("m"))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?m { OPTIONAL { ?m :to <urn:a> } }",
        "SELECT ?m { ?m :p ?o MINUS { ?m :to <urn:a> } }",
        "SELECT ?m { <urn:a> :p* ?m }",
        "SELECT ?m { <urn:a> (:p|:q) ?m }",
        "SELECT (COUNT(*) AS ?n) { ?m :to <urn:a> }",
        "SELECT ?m { ?m :to <urn:a> } LIMIT 1",
        "SELECT ?m { { ?m :to <urn:a> } UNION { ?m :p ?o } }",
        "SELECT ?m { ?m a :Message }",
        "SELECT ?m { ?m rdf:type <urn:a> }",
    ],
)
def test_what_stays_as_it_is(text):
    assert of(text).lifted is None


def test_hidden_keys_are_asked_for():
    found = of("SELECT ?v { ?s :p ?v } ORDER BY ?v")

    assert found.projected == (Variable("v"),)
    assert found.certain == {Variable("v")}
    assert found.asking((Variable("s"), Variable("v"))).sparql == "SELECT ?v ?s  { ?s <http://e/p> ?v }  "


def test_the_form_and_the_columns():
    assert of("ASK { ?s ?p ?o }").form is QueryForm.ASK
    assert of("SELECT * { ?s :p ?o OPTIONAL { ?a :p ?b } }").projected == tuple(map(Variable, "soab"))
    assert of("SELECT * { ?s :p ?o OPTIONAL { ?a :p ?b } }").certain == set(map(Variable, "so"))


# --- cost -----------------------------------------------------------------------------------------------------------


def test_a_known_shape_costs_little():
    """Some 50 us here; ten times as much would be another algorithm."""
    text = 'SELECT ?m ?t {{ ?m :to <urn:user:{}> ; :from ?f ; :text ?t . ?f :name "{}" OPTIONAL {{ ?m :at ?d }} }}'
    of(text.format("first", "first"))
    start = time.thread_time()
    for number in range(500):
        of(text.format(number, number))
    each = (time.thread_time() - start) / 500

    print(f"{each * 1e6:.0f} us")
    assert each < 500e-6


def test_a_new_shape_costs_a_parse():
    text = "SELECT ?m ?t {{ ?m :to{} <urn:x> ; :from ?f ; :text ?t . ?f :name ?n OPTIONAL {{ ?m :at ?d }} }}"
    start = time.perf_counter()
    for number in range(100):
        of(text.format(number))
    each = (time.perf_counter() - start) / 100

    print(f"{each * 1e6:.0f} us")
    assert each < 20e-3


# --- the applications -------------------------------------------------------------------------------------------------


def test_the_chat_is_keyed_and_shared():
    """The query by which each user hears of messages to them costs one evaluation, whoever is subscribed."""
    profile = Profile.load(ROOT / "conf" / "chat" / "chat.jsap")
    mine, yours = (profile.query("SENT", receiver=f"urn:user:{name}") for name in ("me", "you"))

    one, two = analyse(mine), analyse(yours)

    assert not one.wellness
    assert one.lifted.query == two.lifted.query
    assert set(one.lifted.constants) == {NamedNode("urn:user:me")}
    general = analyse(one.lifted.query)
    assert all(general.keys(occurrence) for occurrence in general.occurrences)
    assert general.lifted is None
