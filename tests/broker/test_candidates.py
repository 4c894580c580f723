"""What an update can change at most, as its text tells it, and as its solutions do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode
from support.remotes import contains
from support.sparql_strategies import data_blocks, updates
from support.stores import EX, PROLOGUE, embedded

from triplewire.broker.candidates import NOTHING, CandidateReader
from triplewire.broker.config import SparqlConfig
from triplewire.broker.errors import BrokerError
from triplewire.broker.model import GraphEdit, GraphWrite, QuadPattern, Update

SPARQL = SparqlConfig()
DEFAULT = DefaultGraph()
XSD = "http://www.w3.org/2001/XMLSchema#"


def reader(*, apart=True):
    return CandidateReader(SPARQL.prefixes, SPARQL.base_iri, graphs_apart=apart)


def of(text, *, apart=True):
    """Subject, predicate, object and graph of each pattern, by their last names; `*` is anything, `_` a blank node."""
    found = reader(apart=apart).update(PROLOGUE + text)
    assert found is not None
    return {" ".join(map(name, pattern)) for pattern in found.candidates.patterns}


def name(place):
    if place is None or isinstance(place, BlankNode | DefaultGraph):
        return {type(None): "*", BlankNode: "_", DefaultGraph: "-"}[type(place)]
    return place.value.removeprefix(EX)


# --- what the text tells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("INSERT DATA { :a :p 1 . GRAPH :g { :a :p 'x' , [ :q 2 ] } }", ["a p 1 -", "a p x g", "a p _ g", "_ q 2 g"]),
        ("DELETE DATA { :a :p 1 }", ["a p 1 -"]),
        ("INSERT DATA { }", []),
        ("DELETE { ?s :p ?o } INSERT { ?s :p 5 } WHERE { ?s :p ?o }", ["* p * -", "* p 5 -"]),
        ("INSERT { ?s :p _:new } WHERE { ?s ?p ?o }", ["* p * -"]),
        ("WITH :g DELETE { :a ?p ?o . GRAPH :h { ?s :q ?o } } WHERE { :a ?p ?o }", ["a * * g", "* q * h"]),
        ("INSERT { GRAPH ?g { :a :p :b } } WHERE { GRAPH ?g {} }", ["a p b *"]),
        ("DELETE WHERE { GRAPH :g { :a ?p ?o } }", ["a * * g"]),
        ("CLEAR GRAPH :g ; DROP DEFAULT", ["* * * g", "* * * -"]),
        ("CLEAR NAMED", ["* * * *"]),
        ("DROP SILENT ALL", ["* * * *"]),
        ("COPY :a TO :b ; ADD DEFAULT TO :c ; MOVE :d TO :e", ["* * * b", "* * * c", "* * * d", "* * * e"]),
        ("LOAD <http://x/> INTO GRAPH :g", ["* * * g"]),
        ("INSERT DATA { :a :p 1 } ; DELETE WHERE { ?s :q ?o }", ["a p 1 -", "* q * -"]),
    ],
)  # fmt: skip
def test_what_the_text_tells(text, patterns):
    """A variable is anything, and so is all of a graph that is emptied."""
    assert of(text) == set(patterns)


def test_a_graph_that_is_made_may_have_no_quad():
    """CREATE changes no pattern's solutions but those of `GRAPH ?g {}`."""
    found = reader().update("CREATE GRAPH <urn:g>")
    assert (found.candidates.patterns, found.candidates.graphs) == (frozenset(), {NamedNode("urn:g")})


def test_the_default_graph_may_be_any():
    """Unless the settings say that graphs are apart."""
    assert of("INSERT DATA { :a :p 1 . GRAPH :g { :a :p 2 } }", apart=False) == {"a p 1 *", "a p 2 g"}
    assert of("CLEAR DEFAULT", apart=False) == {"* * * *"}
    assert of("WITH :g DELETE { ?s :p ?o } WHERE { ?s :p ?o }", apart=False) == {"* p * g"}


@pytest.mark.parametrize(
    ("written", "kept", "datatype"),
    [("01", "1", "integer"), ("020.50", "20.5", "decimal"), ("1.0", "1", "float"), ("1", "true", "boolean")],
)
@pytest.mark.parametrize(
    "text", ["INSERT DATA {{ :a :p {} }}", "INSERT {{ ?s :p {} }} WHERE {{ ?s :p ?o . BIND(1 AS ?x) }}"]
)
def test_literals_are_those_that_oxigraph_would_keep(text, written, kept, datatype):
    """As the constants of standing queries are."""
    found = reader().update(PROLOGUE + text.format(f'"{written}"^^<{XSD}{datatype}>'))
    (pattern,) = found.candidates.patterns
    assert pattern.object == Literal(kept, datatype=NamedNode(XSD + datatype))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o }",
        "INSERT DATA {",
        "INSERT DATA { undeclared:x :p 1 }",
        "INSERT DATA { << :a :p :b >> :q 1 }",
        "INSERT DATA { :a :p :b {| :q 1 |} }",
        "DEFINE sql:log-enable 2 INSERT DATA { :a :p 1 }",
        "INSERT DATA { <urn:a> <urn:p> '\ud800' }",
    ],
)
def test_what_is_not_understood_is_not_guessed(text):
    """Whatever the endpoint makes of it."""
    assert reader().update(PROLOGUE + text) is None


def test_graph_store_operations():
    """MERGE adds its triples; the others may take anything."""
    triples = "<urn:a> <urn:p> _:b ."
    merged = reader().graph(GraphWrite(GraphEdit.MERGE, "urn:g", triples))
    ((subject, predicate, object_, graph),) = merged.patterns
    assert (subject.value, predicate.value, graph.value) == ("urn:a", "urn:p", "urn:g")
    assert isinstance(object_, BlankNode)
    assert merged.graphs == {NamedNode("urn:g")}
    for edit in (GraphEdit.REPLACE, GraphEdit.DROP):
        found = reader().graph(GraphWrite(edit, None, triples))
        assert found.patterns == {QuadPattern(None, None, None, DEFAULT)}
    assert reader(apart=False).graph(GraphWrite(GraphEdit.DROP, None)).patterns == {
        QuadPattern(None, None, None, None)
    }


# --- what its solutions tell ------------------------------------------------------------------------------------


def asked(text, *, using=(), named=()):
    one = reader()
    foreseen = one.update(PROLOGUE + text)
    return one.question(foreseen, Update(text, using, named), 10)


MODIFY = "DELETE { ?s :p ?o } WHERE { ?s :p ?o }"


@pytest.mark.parametrize(
    ("text", "graphs", "dataset"),
    [
        (MODIFY, {}, ((), ())),
        (MODIFY, {"using": ("urn:g",), "named": ("urn:h",)}, (("urn:g",), ("urn:h",))),
        ("DELETE { ?s :p ?o } USING :g USING NAMED :h WHERE { ?s :p ?o }", {}, ((f"{EX}g",), (f"{EX}h",))),
        (f"WITH :g {MODIFY}", {}, ((f"{EX}g",), ())),
    ],
)
def test_the_question_has_the_dataset_of_the_pattern(text, graphs, dataset):
    """WITH, USING, or that of the request."""
    question = asked(text, **graphs)
    assert " SELECT DISTINCT ?s ?o WHERE { ?s " in question.sparql
    assert question.sparql.endswith(" LIMIT 10")
    assert (question.default_graphs, question.named_graphs) == dataset


@pytest.mark.parametrize(
    ("text", "graphs"),
    [
        ("INSERT DATA { :a :p 1 }", {}),
        ("INSERT DATA { :a :p 1 } ; DELETE { ?s :p ?o } WHERE { ?s :p ?o }", {}),
        ("INSERT { :a :p 1 } WHERE { ?s :p ?o }", {}),
        ("WITH :g DELETE { ?s :p ?o } WHERE { GRAPH :h { ?s :p ?o } }", {}),
        (f"WITH :g {MODIFY}", {"using": ("urn:g",)}),
        ("INSERT { ?s :p ?x } WHERE { ?s :p ?o BIND(UUID() AS ?x) }", {}),
        ("INSERT { ?s :p ?x } WHERE { ?s :p ?o BIND(rand() AS ?x) }", {}),
        ("INSERT { ?s :p ?x } WHERE { ?s :p ?o BIND(NOW() AS ?x) }", {}),
        ("INSERT { ?s :p ?x } WHERE { ?s :p ?o BIND(:f(?o) AS ?x) }", {}),
        ("INSERT { ?s :q ?o } WHERE { { SELECT ?s ?o { ?s :p ?o } LIMIT 1 } }", {}),
    ],
)
def test_no_question_where_the_answer_would_tell_nothing_or_something_else(text, graphs):
    """No variables, an earlier change, another dataset, another answer each time."""
    assert asked(text, **graphs) is None


def solved(store, one, text, update):
    """What the solutions tell, of a store in this process."""
    foreseen = one.update(text)
    question = one.question(foreseen, update, 10**6) if foreseen is not None else None
    return None if question is None else one.narrowed(foreseen, store.evaluate(question))


def test_solutions_tell_more():
    """One sensor instead of all, and nothing where the pattern has no solution."""
    store = embedded()
    store.apply(Update(PROLOGUE + "INSERT DATA { :a :name 'x' ; :value 1 . :b :name 'y' ; :value 2 }"))
    template = "DELETE { ?s :value ?v } INSERT { ?s :value 5 ; :by [] } WHERE { ?s :name '%s' ; :value ?v } ; CLEAR GRAPH :g"
    update = Update(PROLOGUE + template % "x")
    found = solved(store, reader(), update.sparql, update)
    assert {" ".join(map(name, one)) for one in found.patterns} == {
        "a value 1 -",
        "a value 5 -",
        "a by _ -",
        "* * * g",
    }
    update = Update(PROLOGUE + template.removesuffix(" ; CLEAR GRAPH :g") % "z")
    assert solved(store, reader(), update.sparql, update) == NOTHING


DATASETS = st.sampled_from([(), (), (f"{EX}g",), (f"{EX}g", f"{EX}h")])


@settings(max_examples=400, deadline=None)
@given(st.lists(data_blocks(), max_size=5), updates, DATASETS, DATASETS)
def test_the_exact_change_is_among_the_candidates(data, text, using, named):
    """As the embedded store works it out; by the text alone, and by the solutions where they may be asked for."""
    store = embedded()
    for block in data:
        store.apply(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}"))
    update = Update(text, using, named)
    one = reader()
    foreseen = one.update(text)
    try:
        narrowed = solved(store, one, text, update)
        delta = store.apply(update)
    except BrokerError:
        return  # it changes nothing
    assert foreseen is not None, "the planner has read it, too"
    assert contains(foreseen.candidates, delta)
    if narrowed is not None:
        assert contains(narrowed, delta)
