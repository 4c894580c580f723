"""What SPARQL texts are, the columns of `SELECT *`, and the dataset of an update, judged by Oxigraph."""

from __future__ import annotations

import time

import pyoxigraph
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.sparql_strategies import PROLOGUE, data_blocks, queries, updates

from triplewire.broker.model import QueryForm
from triplewire.broker.texts import first_word, is_update, own_dataset, query_form, with_ordered_star

BASE = "http://localhost/"
RELAXED = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def ordered(text):
    """The query that is evaluated in place of `text`."""
    return with_ordered_star(text, BASE, (("ex", "http://x/"),))


def columns(text):
    """The variables of the answer, by Oxigraph."""
    answer = pyoxigraph.Store().query(ordered(text), base_iri=BASE, prefixes={"ex": "http://x/"})
    return " ".join(variable.value for variable in answer.variables)


# --- what a text is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", ""),
        ("   # only a comment", ""),
        ("select * {}", "SELECT"),
        ("\ufeffASK {}", ""),
        ("PREFIX : <http://SELECT/> ASK {}", "ASK"),
        ("BASE <http://x/> PREFIX insert: <y> # INSERT\n prefix x: <z> Construct {} WHERE {}", "CONSTRUCT"),
        ('VERSION "1.2" DESCRIBE <x>', "DESCRIBE"),
        ("PREFIX x: <a>", ""),
        ("{ SELECT }", ""),
        ("<SELECT>", ""),
        ("PREFIX : <x> INSERT DATA { :a :b 'SELECT' }", "INSERT"),
        ("# SELECT\nDELETE WHERE { ?s ?p ?o }", "DELETE"),
        ("WITH <g> DELETE {} WHERE {}", "WITH"),
        ("CLEAR ALL", "CLEAR"),
    ],
)
def test_the_first_word(text, word):
    """After the prologue and comments; empty where there is none."""
    assert first_word(text) == word


@pytest.mark.parametrize(
    "text",
    [
        *["INSERT DATA {}", "DELETE {} WHERE {}", "load <x>", "CLEAR ALL", "DROP ALL", "CREATE GRAPH <x>"],
        *["COPY <a> TO <b>", "MOVE <a> TO <b>", "ADD <a> TO <b>", "WITH <g> INSERT {} WHERE {}"],
    ],
)
def test_all_operations_are_updates(text):
    """SPARQL 1.1 Update's ten first words, none of which is a query's."""
    assert is_update(f"PREFIX : <http://x/> {text}")
    assert query_form(text) is None


@pytest.mark.parametrize("form", list(QueryForm))
def test_the_four_forms(form):
    """In any case, none of them an update."""
    for word in (form.name, form.name.lower()):
        assert query_form(f"PREFIX : <x>\n{word} {{}}") is form
        assert not is_update(word)


@given(queries, updates)
def test_random_texts_are_what_they_were_made_as(query, update):
    """A query is no update, and the other way round."""
    assert query_form(query) is not None
    assert not is_update(query)
    assert is_update(update)
    assert query_form(update) is None


# --- SELECT * ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * { ?s ?p ?o }", "s p o"),
        ("SELECT*{?z ?y ?x}", "z y x"),
        ("select distinct * where { ?z ?y ?x }", "z y x"),
        ("SELECT REDUCED * { ?z ?y ?x }", "z y x"),
        ("SELECT DISTINCT*{ ?z ?y ?x }", "z y x"),
        ("SELECT # which?\n * # ?a ?b\n { ?z ?y ?x }", "z y x"),
        ("PREFIX s: <SELECT*> SELECT * FROM <g> { ?z s:p ?x }", "z x"),
        ("SELECT * { $z ?y $x . ?x ?y ?z }", "z y x"),
        ("SELECT * { ?z ?y 'SELECT * { ?a }', \"?b\" , ?x }", "z y x"),
        ("SELECT * { ?z ?y '''?b\n?c''' , ?x # ?d\n }", "z y x"),
        ("SELECT * { ?z <?b> ?x }", "z x"),
        ("SELECT * { { SELECT ?b ?a { ?a ?b ?c } } ?z ?y ?a }", "b a z y"),
        ("SELECT * { { SELECT * { ?z ?y ?x } } ?a ?b ?c }", "z y x a b c"),
        ("SELECT * { ?z ?y ?x MINUS { ?b ?c ?x } FILTER EXISTS { ?d ?e ?x } }", "z y x"),
        ("SELECT * { ?z ?y ?x BIND(?x + ?q AS ?n) FILTER(?a > 1) }", "z y x n"),
        ("SELECT * { ?z ?y ?x OPTIONAL { ?x ?b ?c } { ?d ?e ?f } UNION { ?x ?g ?b } }", "z y x b c d e f g"),
        ("SELECT * { VALUES (?z ?y) { (1 2) } GRAPH ?g { ?x ?y ?z } } ORDER BY ?a", "z y g x"),
        ("SELECT * { ?z ?y ?x } VALUES ?v { 1 }", "z y x v"),
        ("SELECT * { [ ex:p ?z ] ex:q ( ?y ?x ) }", "z y x"),
        ("SELECT * { ?z ex:p/ex:q* ?y }", "z y"),
        ("SELECT * { ?é ?y ?ა }", "é y ა"),
        ("SELECT * {}", ""),
        ("SELECT ?p ?s { ?s ?p ?o { SELECT * { ?z ?y ?x } } }", "p s"),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "n"),
        ("SELECT (?b * 2 AS ?n) ?a { ?a ?p ?b }", "n a"),
    ],
)
def test_the_columns_stand_as_their_variables_first_appear(text, names):
    """Only what is in scope; not what stands in texts, IRIs and comments."""
    assert columns(text) == names


def test_comments_may_stand_anywhere():
    """Between any two words."""
    assert columns("SELECT # a\n # b\n DISTINCT # c\n * { ?z ?y ?x }") == "z y x"


@pytest.mark.parametrize(
    "text",
    [
        "ASK { { SELECT * { ?z ?y ?x } } }",
        "CONSTRUCT { ?z ?y ?x } WHERE { { SELECT * { ?z ?y ?x } } }",
        "SELECT ?x { { SELECT * { ?z ?y ?x } } }",
        "ASK { ?s ?p 'SELECT * { ?z ?y }' }",
        "INSERT { ?z ?y ?x } WHERE { SELECT * { ?z ?y ?x } }",
        "SELECT ?s { ?s ?p ?o }",
        "",
        "SELECT",
    ],
)
def test_other_texts_stay_as_they_are(text):
    """Only the outermost `SELECT *` has columns that anybody sees."""
    assert ordered(text) == text


@pytest.mark.parametrize("text", ["SELECT * { ?s ?p", "SELECT * { ?s ex2:p ?o }", "SELECT *"])
def test_what_oxigraph_does_not_read_is_its_own_error(text):
    """With the place in the sender's text."""
    with pytest.raises(SyntaxError, match=r"error at 1:"):
        ordered(text)


def test_a_query_stays_on_its_lines():
    """Errors of the evaluated query name the sender's lines."""
    text = "SELECT *\n{ ?s\n?p ?o }\n"
    assert [line.count("?") for line in ordered(text).split("\n")] == [3, 1, 2, 0]


@RELAXED
@given(st.lists(data_blocks(), max_size=4), queries)
def test_the_answer_is_the_same_but_for_the_order_of_its_columns(data, text):
    """On random data, for random queries."""
    store = pyoxigraph.Store()
    for block in data:
        store.update(f"{PROLOGUE} INSERT DATA {{ {block} }}")
    try:
        before = store.query(text)
    except SyntaxError:
        return
    if not isinstance(before, pyoxigraph.QuerySolutions):
        assert ordered(text) == text
        return
    after = store.query(ordered(text))
    names = [variable.value for variable in before.variables]
    assert sorted(names) == sorted(variable.value for variable in after.variables)
    rows = (
        [tuple(str(solution[name]) for name in names) for solution in answer] for answer in (before, after)
    )
    first, second = map(sorted, rows)
    assert first == second


def test_white_space_costs_no_more_than_its_length():
    """5 kilobytes of it take milliseconds."""
    started = time.process_time()
    ordered("SELECT" + " " * 5000 + "?x {}")
    assert time.process_time() - started < 0.2


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * { ?z ?y ?x SERVICE <URL> { ?z ?b ?a } }", "z y x b a"),
        ("SELECT * { SERVICE SILENT <URL> { ?z ?b ?a } ?c ?d 'SERVICE' }", "z b a c d"),
        ("SELECT * { ?z ?y ?x SERVICESILENT?u{ ?z ?b ?a } }", "z y x b a"),
        ("SELECT * { ?z ?y ?u service ?u { ?z ?b ?a } }", "z y u b a"),
        ("SELECT * { { SELECT * { SERVICE <URL> { ?z ?b ?a } } } }", "z b a"),
    ],
)
def test_nobody_is_called_to_order_columns(text, names, stub):
    """A SERVICE is called by the query itself, once; it may have side effects, and takes its time."""
    text = text.replace("URL", stub.url)
    order = ordered(text)
    assert stub.asked == []
    assert order == text.replace("*", " " + " ".join(f"?{name}" for name in names.split()) + " ", 1)
    assert set(names.split()) == {
        variable.value
        for variable in pyoxigraph.Store()
        .query(text.replace("?u{", "<>{").replace("?u {", "<> {"), base_iri=stub.url)
        .variables
    }


def test_an_error_near_a_service_keeps_its_place():
    """What is asked in the text's place has the same lines and columns."""
    text = "SELECT *\n{ SERVICE SILENT ?url { ?a ?b ?c } ?s ?p }"
    with pytest.raises(SyntaxError) as expected:
        pyoxigraph.Store().query(text, base_iri=BASE)
    with pytest.raises(SyntaxError) as caught:
        ordered(text)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ((), ())),
        ("FROM", ((), ())),
        ("# FROM", ((), ())),
        ("'FROM'", ((), ())),
        ("SELECT * FROM NAMED", ((), ())),
        (
            "SELECT * FROM <g> FROM NAMED ex:h FROM <urn:i> {}",
            (("http://localhost/g", "urn:i"), ("urn:ex:h",)),
        ),
        (
            "PREFIX p: <http://p/> BASE <http://b/> ASK FROM p:g FROM<x>FROM NAMED<y>{}",
            (("http://p/g", "http://b/x"), ("http://b/y",)),
        ),
        (
            "CONSTRUCT { ?s ?p 'FROM <urn:no>' } FROM <urn:g> WHERE { ?s ?p ?o # FROM <urn:no>\n }",
            (("urn:g",), ()),
        ),
        ("SELECT * FROM nope:g FROM ?g FROM 1 {}", ((), ())),
    ],
)
def test_the_graphs_of_a_query_s_own_dataset(text, expected):
    """Absolute; what is no IRI is none of them."""
    assert own_dataset(text, "http://localhost/", {"ex": "urn:ex:"}) == expected
