"""The exact change of an update, worked out before it is written, against what Oxigraph does with the same text."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Store
from support.sparql_strategies import PROLOGUE, data_blocks, updates
from w3c.isomorphism import isomorphic

from triplewire.broker.errors import BrokerError
from triplewire.broker.operations import OperationReader
from triplewire.broker.prologues import with_one_prologue
from triplewire.broker.update_plan import UpdatePlan

BASE = "http://localhost/"
# One for all tests: most texts have the shape of one before.
READER = OperationReader({"xsd": "http://www.w3.org/2001/XMLSchema#"}, BASE)
DATA = """
    INSERT DATA { <a> <v> 1, 2, 3 . <b> <v> _:x . _:x <w> "020.5"^^<http://www.w3.org/2001/XMLSchema#decimal>
                  GRAPH <g> { <a> <v> 9 . _:x <q> <a> } } ; CREATE GRAPH <e>"""


def planned(store: Store, text: str):
    """The delta; None where the text is no update by our reading."""
    read = READER.read(text)
    return None if read is None else UpdatePlan(store, *read, {"base_iri": BASE}).delta()


def copy_of(store: Store) -> Store:
    copy = Store()
    copy.extend(store)
    for graph in store.named_graphs():
        copy.add_graph(graph)
    return copy


def rows(quads) -> list:
    return [(quad.subject, quad.predicate, quad.object, quad.graph_name) for quad in quads]


def check(store: Store, text: str) -> None:
    """The plan's delta turns the dataset into what `Store.update` makes of it; it is minimal; nothing is written."""
    reference, before, graphs = copy_of(store), set(store), set(store.named_graphs())
    try:
        reference.update(with_one_prologue(text), base_iri=BASE)
    except (SyntaxError, RuntimeError) as error:
        failed: Exception | None = error
    else:
        failed = None
    try:
        delta = planned(store, text)
    except (BrokerError, SyntaxError, RuntimeError):
        assert failed is not None, text
        delta = None
    assert set(store) == before, "a plan writes nothing"
    assert set(store.named_graphs()) == graphs
    if failed is not None:
        # What our reading lets pass and Oxigraph does not is refused before, by its parser
        assert delta is None or isinstance(failed, SyntaxError), text
        return
    assert delta is not None, text
    assert delta.deleted <= before
    assert not delta.inserted & before
    assert isomorphic(rows((before - delta.deleted) | delta.inserted), rows(reference)), text
    implied = {quad.graph_name for quad in delta.inserted if isinstance(quad.graph_name, NamedNode)}
    assert graphs - delta.dropped | delta.created | implied == set(reference.named_graphs()), text


UPDATES = [
    "INSERT DATA { <a> <v> 1, 4 . GRAPH <n> { <a> <b> [ <c> (1 2) ] . } <z> <z> <z> }",
    "DELETE DATA { <a> <v> 1 . GRAPH <g> { <a> <v> 9 } }",
    "DELETE WHERE { ?s <v> ?o }",
    "DELETE { ?s ?p ?o } INSERT { GRAPH <x> { ?s ?p ?o } . _:q <old> ?o } WHERE { ?s ?p ?o }",
    "WITH <g> DELETE { ?s ?p ?o } INSERT { ?s <new> ?o } WHERE { ?s ?p ?o }",
    "INSERT { ?s <copy> ?o } USING <g> WHERE { ?s ?p ?o }",
    "INSERT { ?s <copy> ?o } USING NAMED <g> WHERE { GRAPH ?g { ?s ?p ?o } }",
    "INSERT { ?s <copy> ?o } USING NAMED <g> WHERE { ?s ?p ?o }",
    "INSERT DATA { _:n <t> 1 } ; INSERT { ?n <t> 2 . _:m <of> ?n } WHERE { ?n <t> 1 }"
    " ; DELETE { ?m <of> ?n } INSERT { ?m <foo> ?n } WHERE { ?m <of> ?n }",
    "INSERT { _:m <of> ?s } WHERE { ?s <v> ?o } ; DELETE { ?m <of> ?n } INSERT { ?m <foo> ?n } WHERE { ?m <of> ?n }",
    "COPY <g> TO <k> ; DELETE WHERE { GRAPH <k> { ?s <v> ?o } } ; MOVE <k> TO DEFAULT",
    "CLEAR ALL ; INSERT { <a> <c> ?n } WHERE { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } }",
    "INSERT DATA { <a> <v> 77 } ; CREATE GRAPH <e>",
    "DROP GRAPH <nope>",
    "CLEAR SILENT GRAPH <nope> ; DROP NAMED ; CREATE GRAPH <g>",
    "INSERT { ?s <p> '020.50'^^<http://www.w3.org/2001/XMLSchema#decimal>, 'X'@EN } WHERE { ?s <v> 1 }",
    "DELETE { ?s <w> '20.50'^^<http://www.w3.org/2001/XMLSchema#decimal> } WHERE { ?s ?p ?o }",
    "INSERT { ?s ?p ?o . ?o ?p ?s } WHERE { ?s ?p ?o }",
    "INSERT { <a> <b> <<( ?s ?p ?o )>> } WHERE { ?s ?p ?o }",
    "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
    "INSERT { GRAPH ?g { ?s <gg> ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }"
    " ; DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o FILTER(?p = <gg>) } }",
    "INSERT { <a> <b> 1 GRAPH <x> { <a> <b> 2 } <c> <d> 3 . GRAPH <x> { <a> <b> 4 . } . <e> <f> 5 } WHERE {}",
    "ADD <g> TO <g>",
    "MOVE SILENT <nope> TO <g>",
    "MOVE <nope> TO <g>",
    "COPY DEFAULT TO <e> ; ADD <e> TO <g> ; DROP GRAPH <e> ; CREATE GRAPH <e>",
    "INSERT DATA { <a> <b> 1 } ; PREFIX x: <http://x/> INSERT { ?s x:b ?o } WHERE { ?s <b> ?o }",
    "",
    "INSERT DATA { <a> <b> <c> } ;",
]
REFUSED = [
    "DELETE { _:x <v> ?o } WHERE { ?s <v> ?o }",
    "INSERT DATA { ?x <v> 1 }",
    "INSERT DATA { <g> { <a> <b> <c> } }",
    "INSERT DATA { { <a> <b> <c> } }",
    "INSERT DATA { PREFIX a: <http://x> a:a a:b a:c }",
    "INSERT DATA { @prefix a: <http://x> . a:a a:b a:c }",
    "INSERT DATA { _:m <b> 1 } ; INSERT DATA { _:m <b> 2 }",
    "INSERT { <a> <b> 'x'^^?t } WHERE { ?s <p> ?t }",
    "INSERT DATA { <a> <b> <c> } ; ;",
    "INSERT DATA { <a> <b> <c> } INSERT DATA { <a> <b> <d> }",
    "SELECT * WHERE { ?s ?p ?o }",
]


@pytest.mark.parametrize("text", UPDATES)
def test_each_form_of_update(text):
    """Every operation of SPARQL 1.1 Update, alone and after others."""
    store = Store()
    store.update(DATA, base_iri=BASE)
    check(store, text)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_an_update_has_no_plan(text):
    """Where TriG is laxer than SPARQL, the plan is not."""
    store = Store()
    with pytest.raises(SyntaxError):
        store.update(text, base_iri=BASE)
    with suppress(BrokerError):
        assert planned(store, text) is None


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(data_blocks(), max_size=4), updates)
def test_a_plan_and_oxigraph_agree(data, text):
    """Random updates over random datasets: blank nodes, several graphs, several operations, failing ones."""
    store = Store()
    for block in data:
        store.update(f"{PROLOGUE} INSERT DATA {{ {block} }}", base_iri=BASE)
    check(store, text)


def test_functions_are_evaluated_once():
    """What UUID() gave is what is written."""
    store = Store()
    delta = planned(store, "INSERT { <a> <b> ?x . ?x <c> ?x } WHERE { BIND(UUID() AS ?x) }")
    assert delta is not None
    assert len({quad.object for quad in delta.inserted}) == 1


def test_blank_nodes_keep_their_identity():
    """A stored blank node that is deleted and inserted elsewhere is the same node."""
    store = Store()
    store.update("INSERT DATA { <a> <v> _:x }", base_iri=BASE)
    (node,) = [quad.object for quad in store]
    delta = planned(store, "DELETE { <a> <v> ?x } INSERT { <a> <w> ?x } WHERE { <a> <v> ?x }")
    assert delta is not None
    assert [quad.object for quad in delta.inserted] == [node]
