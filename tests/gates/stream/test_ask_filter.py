"""ASK as a filter: what is taken, what is refused, and what it costs at most."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stepped import item

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import RequestError
from triplewire.gates.stream.ask_filter import MOST_STEPS, ask_of
from triplewire.gates.stream.looked import Looked

LIMITS = LimitsConfig()
READING = b"""
@prefix sosa: <http://www.w3.org/ns/sosa/> .
<urn:o1> a sosa:Observation ; sosa:madeBySensor <urn:s1> ; sosa:hasSimpleResult 21.5 .
"""


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("ASK { ?o <http://www.w3.org/ns/sosa/madeBySensor> <urn:s1> }", True),
        ("ASK WHERE { ?o <http://www.w3.org/ns/sosa/madeBySensor> <urn:s2> }", False),
        (
            "PREFIX sosa: <http://www.w3.org/ns/sosa/> ASK { ?o a sosa:Observation ; sosa:hasSimpleResult ?v . "
            "FILTER(?v > 20 && ?v < 22) }",
            True,
        ),
        ("PREFIX s: <http://www.w3.org/ns/sosa/> ASK { ?o s:hasSimpleResult ?v FILTER(?v > 30) }", False),
        ("ASK { ?o ?p ?v FILTER(REGEX(STR(?v), 's[0-9]$')) }", True),
        ("ASK { { ?o ?p <urn:no> } UNION { ?o ?p <urn:s1> } }", True),
        ("ASK { ?o ?p <urn:s1> FILTER NOT EXISTS { ?o a ?type } }", False),
        ("ASK { ?o ?p <urn:s1> OPTIONAL { ?o <urn:none> ?n } }", True),
        ("ASK { ?o a/^a ?o }", True),
        ("ASK { ?o <http://www.w3.org/ns/sosa/madeBySensor>+ <urn:s1> }", True),
        ("ASK { }", True),
    ],
)
def test_what_an_item_answers(text, passes):
    """Its own graph only."""
    assert ask_of(text, LIMITS).passes(Looked(item("e", READING))) is passes


def test_without_rdf_nothing_passes():
    """Not even what any graph would answer by true."""
    assert not ask_of("ASK { }", LIMITS).passes(Looked(item("e", b"", syntax="text/plain")))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ASK {",
        "SELECT * { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "DELETE WHERE { ?s ?p ?o }",
        "ASK { SERVICE <http://localhost/> { ?s ?p ?o } }",
        "ASK { GRAPH ?g { ?s ?p ?o } }",
        "ASK FROM <http://localhost/> { ?s ?p ?o }",
        "ASK { BIND(CONCAT('a', 'a') AS ?a) BIND(CONCAT(?a, ?a) AS ?b) }",
        "ASK { VALUES ?x { 1 2 3 } }",
        "ASK { { SELECT ?s { ?s ?p ?o } } }",
        "ASK { ?s ?p ?o FILTER(REPLACE(STR(?o), '.', '$0$0') = '') }",
        "ASK { ?s ?p ?o FILTER(ENCODE_FOR_URI(STR(?o)) = '') }",
        "ASK { ?s ?p ?o FILTER(<urn:f>(?o)) }",
        "ASK { ?s ?p (1 2 3) }",
        "ASK { ?s a (1 2 3) }",
        "ASK { ?s (<urn:p>|<urn:q>)* ?o }",
        "ASK { << ?s ?p ?o >> ?q ?v }",
        "ASK { ?s ?p ?o } GROUP BY ?s",
        "ASK { " + "{" * 300 + "}" * 300 + " }",
        "ASK { " + " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(200)) + " }",
    ],
)
def test_what_is_refused(text):
    """By an error that says why, before anything is evaluated."""
    with pytest.raises(RequestError):
        ask_of(text, LIMITS)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("ASK { ?s ?p ?o }", 1),
        ("ASK { ?s ?p ?o . }", 1),
        ("ASK { ?s ?p ?o . ?o ?q ?r }", 2),
        ("ASK { ?s ?p ?o ; ?q ?r , ?t }", 3),
        ("ASK { ?s ?p ?o FILTER(?o > 1) ?o ?q ?r }", 2),
        ("ASK { ?s ?p ?o OPTIONAL { ?s ?q ?r } ?o ?t ?u }", 3),
        ("ASK { [ <urn:p> ?o ; <urn:q> ?r ] }", 2),
        ("ASK { ?s ?p [ <urn:q> ?r ] }", 2),
        ("ASK { ?s <urn:p>/<urn:q>/<urn:r> ?o }", 3),
        ("ASK { ?s <urn:p>* ?o }", 2),
        ("ASK { ?s ?p ?o FILTER(IF(?o > 1, true, false)) }", 1),
        ("ASK { FILTER EXISTS { ?s ?p ?o . ?o ?q ?r } }", 2),
        ("ASK { FILTER(EXISTS { ?s ?p ?o } && EXISTS { ?o ?q ?r }) }", 2),
        ("ASK { 1 ?p ?o . true ?q ?r }", 2),
    ],
)
def test_patterns_are_counted(text, least):
    """Never less than there are, and no more than one for what is simple."""
    counted = ask_of(text, LIMITS).patterns
    assert least <= counted <= least + 1


def test_what_costs_too_much_is_not_asked():
    """A product of many patterns over many triples does not pass, at once."""
    product = (
        "ASK { " + " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(6)) + " FILTER(?c0 = ?c5 && ?c1 = 7) }"
    )
    body = b"".join(b"<urn:s%d> <urn:p> %d .\n" % (n, n) for n in range(100))
    asked = ask_of(product, LIMITS)
    began = time.perf_counter()
    assert not asked.passes(Looked(item("e", body)))
    assert time.perf_counter() - began < 0.5
    assert 100**asked.patterns > MOST_STEPS
    # and the same pattern over few triples is
    assert ask_of("ASK { ?s ?p 7 }", LIMITS).passes(Looked(item("e", body)))


def test_a_regular_expression_that_is_too_large_does_not_pass():
    """It is an error in the FILTER, or of Oxigraph's; never one of ours."""
    asked = ask_of("ASK { ?s ?p ?o FILTER(REGEX(STR(?o), '(((a{100}){100}){100}){100}')) }", LIMITS)
    assert not asked.passes(Looked(item("e", READING)))


TERMS = st.sampled_from(["?x", "<urn:a>", "ex:b", '"text"', "7", "true", "[ ex:p ?z ]"])
VERBS = st.sampled_from(["?p", "<urn:p>", "ex:p", "a", "ex:p/ex:q", "^ex:p", "ex:p+", "!ex:p"])
SUBJECTS = TERMS.filter(lambda term: term[0] not in '"7t')


@st.composite
def groups(draw, depth=2):
    """A group's text and how many triple patterns are in it."""
    parts, count = [], 0
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["triples", "triples", "filter", "optional", "union", "exists"]))
        if kind == "triples":
            lists = draw(st.lists(st.lists(TERMS, min_size=1, max_size=2), min_size=1, max_size=2))
            text = " ; ".join(f"{draw(VERBS)} {' , '.join(objects)}" for objects in lists)
            subject = draw(SUBJECTS)
            parts.append(f"{subject} {text} .")
            count += sum(map(len, lists)) + parts[-1].count("[")
        elif kind == "filter":
            parts.append(
                draw(
                    st.sampled_from(["FILTER(?x > 1)", "FILTER(?x IN (1, 2))", "FILTER(STRLEN(STR(?x)) = 2)"])
                )
            )
        elif depth:
            inside, more = draw(groups(depth - 1))
            count += more
            parts.append(
                {
                    "optional": f"OPTIONAL {inside}",
                    "union": f"{{ }} UNION {inside}",
                    "exists": f"FILTER NOT EXISTS {inside}",
                }[kind]
            )
    text = " ".join(parts)
    if draw(st.booleans()):  # the last dot may be left out
        text = text.removesuffix(".")
    return f"{{ {text} }}", count


@given(groups())
def test_no_pattern_escapes_the_count(group):
    """Whatever stands between them."""
    text, count = group
    assert ask_of(f"PREFIX ex: <urn:> ASK {text}", LIMITS).patterns >= max(count, 1)


@given(st.text(max_size=80) | st.text("ASK{}()[]<>?spo.;,*+/|^'\"\\#@:_ 1", max_size=60).map("ASK {".__add__))
def test_any_text_is_taken_or_refused(text):
    """Never by another error."""
    try:
        asked = ask_of(text, LIMITS)
    except RequestError:
        return
    assert asked.passes(Looked(item("e", READING))) in {True, False}
