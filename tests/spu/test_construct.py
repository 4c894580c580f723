"""CONSTRUCT with blank nodes: the graph that Oxigraph makes, with names that last."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, Quad
from support.sparql_strategies import PROLOGUE, constructs, data_blocks, updates
from support.stores import EX, embedded
from w3c.isomorphism import isomorphic

from triplewire.broker.errors import BrokerError, SparqlSyntaxError
from triplewire.broker.model import Query, Update
from triplewire.spu.construct import StableConstruct

RELAXED = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
DATA = ":a :p 1, 'x' . :b :p 2 ; :q :a . _:m :p _:n"


def stored(*blocks, **sparql):
    """A store with data."""
    store = embedded(**sparql)
    for block in blocks:
        store.apply(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}"))
    return store


def graph(rows):
    """Triples, with the blank nodes named by what stands around them."""
    dataset = Dataset(Quad(*row) for row in rows)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


def by_canonical_form(left, right):
    """Right for triple terms; takes for ever where many nodes are alike."""
    return graph(left) == graph(right)


def same(store, text, alike=by_canonical_form):
    """The two graphs are one; the stable rows."""
    query = Query(PROLOGUE + text)
    construct = StableConstruct.of(query)
    assert construct is not None
    stable = construct.evaluate(store)
    assert stable.vars == ("subject", "predicate", "object")
    assert len(set(stable.rows)) == len(stable.rows)
    assert alike(stable.rows, store.evaluate(query).rows)
    return stable.rows


WHERE = "WHERE { ?s :p ?o }"
TEXTS = [
    f"CONSTRUCT {{ ?s :made [ :value ?o ] }} {WHERE}",
    f"CONSTRUCT {{ _:x :of ?s ; :value ?o . _:y :with _:x }} {WHERE}",
    f"CONSTRUCT {{ ?s :list ( ?o [] 1 ) }} {WHERE}",
    f"CONSTRUCT {{ [] :p () ; a :Thing . }} {WHERE}",
    f"construct {{ [ :p [ :q [] ] ] . }} {WHERE}",
    f"CONSTRUCT {{ ?o :back _:x }} {WHERE}",
    "CONSTRUCT { _:x ?p ?o } WHERE { ?s ?p ?o }",
    f"CONSTRUCT {{ _:x :p ?nowhere . _:x :q ?s }} {WHERE}",
    f"CONSTRUCT {{ _:x :p 1 }} {WHERE}",
    "CONSTRUCT { _:x :p 1 } WHERE {}",
    f"CONSTRUCT {{ _:x :p $o, '''?s }} # [''' # ?s }}\n }} {WHERE}",
    f"CONSTRUCT {{ _:x :p true, 1.50, 1e3, 'x'@en--ltr, 'y'^^<urn:t> }} {WHERE}",
    f"# CONSTRUCT {{ }}\nPREFIX c: <urn:c:>\nCONSTRUCT # {{\n {{ _:x c:p ?o }}\n{WHERE}",
    f"BASE <http://other/> CONSTRUCT {{ _:x <p> ?o }} {WHERE}",
    f"CONSTRUCT {{ _:x :p ?o }} FROM <{EX}g> {WHERE}",
    f"CONSTRUCT {{ _:x :p ?o }} {WHERE} ORDER BY ?o LIMIT 2 OFFSET 1",
    "CONSTRUCT { _:x :n ?n } WHERE { SELECT (COUNT(*) AS ?n) { ?s :p ?o } }",
    "CONSTRUCT { _:x :p ?o } WHERE { ?s :p ?o VALUES ?z { 1 2 } }",
    f"CONSTRUCT {{ _:x :p ?o }} {WHERE} VALUES ?o {{ 1 2 }}",
    "CONSTRUCT { _:x :p ?b } WHERE { BIND(BNODE() AS ?b) }",
    "CONSTRUCT { _:x :p ?o } { ?s :p ?o . _:y :q ?s }",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_graph_is_oxigraphs(text):
    """Up to the names of its blank nodes."""
    store = stored(DATA, "GRAPH :g { :a :p 9 }")
    same(store, text)


@RELAXED
@given(st.lists(data_blocks(), max_size=5), constructs)
def test_the_graph_is_oxigraphs_on_random_data(data, text):
    """For random queries."""
    store = stored(*data)
    try:
        store.evaluate(Query(PROLOGUE + text))
    except BrokerError:
        return
    if StableConstruct.of(Query(PROLOGUE + text)) is not None:
        same(store, text, isomorphic)


@RELAXED
@given(st.lists(data_blocks(), max_size=4), constructs, updates)
def test_the_same_solution_is_the_same_node(data, text, update):
    """In every evaluation, by any unit, whatever has come or gone in between."""
    query = Query(PROLOGUE + text)
    construct = StableConstruct.of(query)
    store = stored(*data)
    try:
        store.evaluate(query)
    except BrokerError:
        return
    if construct is None:
        return
    before = set(construct.evaluate(store).rows)
    assert set(construct.evaluate(store).rows) == before
    try:
        store.apply(Update(update))
    except BrokerError:
        return
    after = set(construct.evaluate(store).rows)
    assert set(StableConstruct.of(query).evaluate(store).rows) == after


@pytest.mark.parametrize("text", [text for text in TEXTS if "BNODE()" not in text])
def test_names_last(text):
    """Another unit, another store with the same data: the same names."""
    query = Query(PROLOGUE + text)
    rows = [
        set(StableConstruct.of(query).evaluate(stored(":a :p 1, 'x' . :b :p 2 ; :q :a")).rows)
        for _ in range(2)
    ]
    assert rows[0] == rows[1]


def test_each_solution_has_nodes_of_its_own():
    """Equal solutions too, each as often as it comes; within one, a label is one node."""
    store = stored(DATA)
    query = Query(
        f"{PROLOGUE} CONSTRUCT {{ _:x :of ?s . _:x :in _:y }} WHERE {{ ?s :q ?o VALUES ?z {{ 1 2 3 }} }}"
    )
    rows = StableConstruct.of(query).evaluate(store).rows
    assert len(rows) == 6
    assert len({row[0] for row in rows}) == 3
    assert len({term for row in rows for term in row if isinstance(term, BlankNode)}) == 6


def test_blank_nodes_of_the_data_stay_themselves():
    """Only the template's are named here."""
    store = stored("_:m :p _:n")
    (data,) = store.evaluate(Query(f"{PROLOGUE} SELECT ?s ?o {{ ?s :p ?o }}")).rows
    rows = same(store, "CONSTRUCT { ?s :q _:x . ?s :r ?o } WHERE { ?s :p ?o }")
    assert {row[0] for row in rows} == {data[0]}
    assert data[1] in {row[2] for row in rows}


def test_the_dataset_of_the_request_holds():
    """default-graph-uri and named-graph-uri."""
    store = stored(DATA, "GRAPH :g { :a :p 9 }")
    query = Query(f"{PROLOGUE} CONSTRUCT {{ _:x :p ?o }} {WHERE}", (f"{EX}g",))
    rows = StableConstruct.of(query).evaluate(store).rows
    assert [row[2].value for row in rows] == ["9"]


@pytest.mark.parametrize(
    "text",
    [
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "CONSTRUCT { ?s :p 1 } WHERE { ?s ?p [ :q 1 ] }",
        "CONSTRUCT WHERE { ?s ?p ?o }",
        "CONSTRUCT {} WHERE { ?s ?p [] }",
        "CONSTRUCT { ?s :p '[ _:x (' } WHERE { ?s ?p ?o }",
        "SELECT * { ?s ?p [] }",
        "SELECT ?CONSTRUCT { ?CONSTRUCT ?p [] }",
        "ASK { [] ?p [] }",
        "DESCRIBE ?s { ?s ?p [] }",
        "",
        "CONSTRUCT",
        "CONSTRUCT {",
    ],
)
def test_all_else_is_left_to_oxigraph(text):
    """No template with blank nodes, or none that can be read."""
    assert StableConstruct.of(Query(PROLOGUE + text)) is None


HARD = [
    "CONSTRUCT { _:x :p <<( ?s :q ?o )>> } WHERE { ?s :p ?o }",
    "CONSTRUCT { :a :p <<( _:x :q ?o )>> . _:x :r 1 } WHERE { ?s :p ?o }",
    "CONSTRUCT { << ?s :p ?o >> :q 1 } WHERE { ?s :p ?o }",
    "CONSTRUCT { ?s :p ?o {| :q 1 |} } WHERE { ?s :p ?o }",
    "CONSTRUCT { ?s :p ?o ~ _:r } WHERE { ?s :p ?o }",
    "CONSTRUCT { _:x rdf:value ?o } WHERE { ?s :p ?o }",
    "CONSTRUCT { _:x <p> ?o } WHERE { ?s :p ?o }",
    "CONSTRUCT { _:x :p 1 } WHERE { ?solution :p ?solution0 }",
    "CONSTRUCT WHERE { ?s :p _:x }",
    "CONSTRUCT WHERE { ?s :p [] ; :q ?o . }",
    f"CONSTRUCT FROM <{EX}g> WHERE {{ ?s :p [] }}",
]


@pytest.mark.parametrize("text", HARD)
def test_the_harder_templates(text):
    """Triple terms and reifiers, prefixes and base of the settings, names in use, and CONSTRUCT WHERE."""
    store = stored(DATA, "GRAPH :g { :a :p 9 }", base_iri="http://base/")
    rows = same(store, text)
    construct = StableConstruct.of(Query(PROLOGUE + text))
    assert set(construct.evaluate(store).rows) == set(construct.evaluate(store).rows)
    assert len(rows) > 0


@pytest.mark.parametrize(
    "text",
    [
        *["CONSTRUCT { [] :p ?o", "CONSTRUCT { [] :p } WHERE {}", "CONSTRUCT { [] nope:p 1 } WHERE {}"],
        *[
            "CONSTRUCT { [] :p 1 } WHERE { ?s ?p }",
            "CONSTRUCT { _:x :p ( } WHERE {}",
            "CONSTRUCT { [] } } WHERE {}",
        ],
    ],
)
def test_a_text_that_is_wrong_is_told_as_if_nothing_had_been_changed(text):
    """With the place in the sender's own text."""
    store, query = stored(DATA), Query(PROLOGUE + text)
    with pytest.raises(SparqlSyntaxError) as plain:
        store.evaluate(query)
    construct = StableConstruct.of(query)
    with pytest.raises(SparqlSyntaxError) as caught:
        construct.evaluate(store) if construct else store.evaluate(query)
    assert str(caught.value) == str(plain.value)
