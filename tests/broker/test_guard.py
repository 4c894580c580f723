"""The guard: what would end or hang the process is refused at once, and what people write passes."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.own_time import own_time
from support.sparql_strategies import queries, updates
from support.worst_texts import EXPRESSIONS, GROUPS, JOINS, OPERATORS, TERMS, TOGETHER, as_query, as_update

from triplewire.broker.complexity import Counter
from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import QueryTooComplex, RequestTooLarge
from triplewire.broker.guard import _check, check_query, check_update

LIMITS = LimitsConfig()


def refused_by(check, text):
    """The error, and that it takes no longer than a request may wait for another."""
    with own_time() as took_s:
        with pytest.raises(QueryTooComplex) as caught:
            check(text, LIMITS)
        assert took_s() < 0.1
    assert (caught.value.status, caught.value.code) == (400, "too_complex")
    return str(caught.value)


@pytest.mark.parametrize(("check", "around"), [(check_query, as_query), (check_update, as_update)])
@pytest.mark.parametrize(
    "family", [*EXPRESSIONS.values(), *GROUPS.values(), *TERMS.values()], ids=[*EXPRESSIONS, *GROUPS, *TERMS]
)
def test_what_nests_5000_deep_is_refused(check, around, family):
    """Oxigraph would overflow its stack and end the process."""
    refused_by(check, around(family(5000)))


@pytest.mark.parametrize(("check", "around"), [(check_query, as_query), (check_update, as_update)])
@pytest.mark.parametrize("family", OPERATORS.values(), ids=OPERATORS)
def test_chains_of_20000_are_refused(check, around, family):
    """They are as deep a tree, though nothing nests in the text."""
    refused_by(check, around(family(20_000)))


@pytest.mark.parametrize(("check", "around"), [(check_query, as_query), (check_update, as_update)])
@pytest.mark.parametrize("family", JOINS.values(), ids=JOINS)
@pytest.mark.parametrize("patterns", [160, 320])
def test_many_joins_are_refused(check, around, family, patterns):
    """They would be planned for seconds or minutes, and nobody could stop it."""
    refused_by(check, around(family(patterns)))


@pytest.mark.parametrize(("check", "around"), [(check_query, as_query), (check_update, as_update)])
@pytest.mark.parametrize("family", TOGETHER.values(), ids=TOGETHER)
def test_many_scopes_together_are_refused(check, around, family):
    """Each of them within its limits, and all together as slow as one that is not."""
    with pytest.raises(QueryTooComplex):
        check(around(family(600)), LIMITS)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <a> <b> " + "[ <p> " * 5000 + "1" + " ]" * 5000 + " }",
        "INSERT DATA { <a> <b> " + "( " * 5000 + "1" + " )" * 5000 + " }",
        "INSERT DATA { <a> <b> " + "<<( <a> <b> " * 5000 + "1" + " )>>" * 5000 + " }",
        "DELETE DATA { <a> <b> " + "<<( <a> <b> " * 5000 + "1" + " )>>" * 5000 + " }",
        "INSERT DATA { " + "GRAPH <g> { " * 5000 + "}" * 5000 + " }",
        "INSERT { ?s ?p " + "[ <p> " * 5000 + "1" + " ]" * 5000 + " } WHERE { ?s ?p ?o }",
        "DELETE WHERE { ?s ?p " + "( " * 5000 + "1" + " )" * 5000 + " }",
        "DELETE WHERE { " + "?s <p> ?o . " * 320 + " }",
        "INSERT DATA {} ; " + as_update(GROUPS["OPTIONAL"](5000)),
        "INSERT DATA {} ; " + as_update(JOINS["star"](320)) + " ; INSERT DATA {}",
    ],
    ids=lambda text: text[:40],
)
def test_updates_have_traps_of_their_own(text):
    """In data, in templates and in later operations."""
    refused_by(check_update, text)


@pytest.mark.parametrize(
    "text",
    [
        "DESCRIBE " + "<http://example.org/a> " * 20_000,
        "DESCRIBE " + "ex:a " * 20_000,
        "DESCRIBEex:a " + "ex:a " * 20_000,
        "CONSTRUCT { ?s ?p " + "[ <p> " * 5000 + "1" + " ]" * 5000 + " } WHERE { ?s ?p ?o }",
        "CONSTRUCT WHERE { " + "?s <p> ?o . " * 320 + " }",
        "ASK { " + "?s <p> ?o . " * 320 + " }",
        "SELECT (COUNT(*) AS ?n) { " + "?s <p> ?o . " * 320 + " }",
    ],
    ids=lambda text: text[:40],
)
def test_queries_of_other_forms_are_refused_too(text):
    """Whatever is made of the solutions."""
    refused_by(check_query, text)


def test_a_query_is_bounded_in_length():
    """An update's length is that of its body."""
    text = f"ASK {{ }} # {'x' * LIMITS.query_chars}"
    with pytest.raises(RequestTooLarge, match=r"limits\.query_chars") as caught:
        check_query(text, LIMITS)
    assert caught.value.status == 413
    check_update(text, LIMITS)


def test_an_error_names_its_setting():
    """So that one who may can allow more."""
    told = {
        "nesting": refused_by(check_query, as_query(EXPRESSIONS["parentheses"](5000))),
        "operators": refused_by(check_query, as_query(OPERATORS["&&"](20_000))),
        "joins": refused_by(check_query, as_query(JOINS["star"](320))),
    }
    assert all(f"limits.{name}" in description for name, description in told.items())
    more = LimitsConfig(nesting=10_000, operators=100_000, joins=1000)
    check_query(as_query(EXPRESSIONS["parentheses"](5000)), more)
    check_query(as_query(OPERATORS["&&"](20_000)), more)
    check_query(as_query(JOINS["star"](320)), more)


def star(patterns):
    return " ".join(
        f"?s <http://example.org/vocabulary#property{number}> ?value{number} ." for number in range(patterns)
    )


@pytest.mark.parametrize(
    "body",
    [
        star(60),
        "?s a <C> . " + " ".join(f"OPTIONAL {{ ?s <p{number}> ?o{number} }}" for number in range(40)),
        "?s a <C> . " + " ".join(f"OPTIONAL {{ ?s <p{number}> ?o{number} . ?o{number} <l> ?l{number} FILTER(lang(?l{number}) = 'en') }}" for number in range(25)),
        " UNION ".join(f"{{ ?s <p{number}> ?o . ?o <q> ?x . ?x a <C{number}> }}" for number in range(100)),
        f"?s ?p ?o FILTER(?o IN ({', '.join(map(str, range(5000)))}))",
        f"?s ?p ?o FILTER(?o NOT IN ({', '.join(f'<http://example.org/a(b)-{number}>' for number in range(5000))}))",
        star(30) + f" VALUES (?s ?value1) {{ {' '.join(f'(<http://example.org/{number}> UNDEF)' for number in range(5000))} }}",
        "{ SELECT ?s (COUNT(*) AS ?n) { { SELECT ?s { ?s ?p ?o } GROUP BY ?s } ?s <q> ?x } GROUP BY ?s } " + star(10),
        "?list <rest>*/<first> ?x . ?s (<a>|<b>)+ ?list . ?s ((<a>/<b>)*|<c>/<d>)? ?z",
        f"?s ?p ?o FILTER({' || '.join(f'CONTAINS(?o, {number})' for number in range(300))})",
    ],
    ids=lambda body: body[:30],
)  # fmt: skip
def test_what_people_write_passes(body):
    """Large as programs make it."""
    check_query(as_query(body), LIMITS)
    check_update(as_update(body), LIMITS)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { " + "".join(f"<http://example.org/s{number}> <p> '(v) {number}' . " for number in range(10_000)) + " }",
        "INSERT DATA {};" * 20_000,
        f"DELETE {{ {' . '.join(f'?s <p> {number}' for number in range(10_000))} }} WHERE {{ ?s ?p ?o }}",
        "DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s ?p ?o OPTIONAL { ?s <q> ?x } } ;\n" * 1000,
    ],
    ids=["data", "operations", "template", "modifications"],
)  # fmt: skip
def test_large_updates_pass(text):
    """Their size alone is no danger."""
    started = time.process_time()
    check_update(text, LIMITS)
    assert time.process_time() - started < 1.0


def sparql_of(document):
    """All texts under the member `sparql`."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name == "sparql" and isinstance(value, str):
                yield value
            else:
                yield from sparql_of(value)


def test_the_applications_of_sepa_pass(shared):
    """Every query and update of their profiles."""
    texts = [
        text for path in (shared / "jsap").rglob("*.jsap") for text in sparql_of(json.loads(path.read_text()))
    ]
    assert len(texts) > 150
    for text in texts:
        check_query(text, LIMITS)
        check_update(text, LIMITS)


def test_the_tests_of_the_w3c_pass(shared):
    """Those of syntax that must be refused, too: that is Oxigraph's to say."""
    found = 0
    for path in (shared / "w3c").rglob("*.r[qu]"):
        (check_query if path.suffix == ".rq" else check_update)(
            path.read_bytes().decode(errors="replace"), LIMITS
        )
        found += 1
    assert found > 900


@settings(max_examples=100)
@given(queries, updates)
def test_random_texts_pass(query, update):
    """By the short way and by the long one."""
    check_query(query, LIMITS)
    check_update(update, LIMITS)
    Counter(LIMITS).count(query)
    Counter(LIMITS).count(update)


@pytest.mark.parametrize(
    "family", [*GROUPS.values(), *TERMS.values(), *JOINS.values()], ids=[*GROUPS, *TERMS, *JOINS]
)
def test_the_short_way_lets_nothing_pass_that_the_long_way_would_not(family):
    """But a few joins more, where counting characters is enough."""
    around = LimitsConfig(joins=LIMITS.joins + 16)
    for number in range(1, 20):
        text = as_query(family(number))
        try:
            check_query(text, LIMITS)
        except QueryTooComplex:
            return
        Counter(around).count(text)


@pytest.mark.parametrize("check", [check_query, check_update])
def test_declarations_are_no_operators(check):
    """However many there are; the IRIs of DESCRIBE are joined, with declarations before them or without."""
    declarations = " ".join(f"PREFIX p{number}: <http://x/{number}>" for number in range(3000))
    check(f"{declarations} DELETE WHERE {{ ?s p1:p ?o }}", LIMITS)
    for before in ("", declarations, "PREFIX p1: <http://x/>"):
        refused_by(
            check, f"{before} DESCRIBE" + " <http://x/>" * (LIMITS.operators + 2) + " WHERE { ?s ?p ?o }"
        )


# --- texts that differ in their constants only ------------------------------------------------------------------


def verdict(check, text, limits):
    try:
        check(text, limits)
    except QueryTooComplex as error:
        return str(error)
    return None


@settings(max_examples=200, deadline=None)
@given(queries | updates, st.integers(1, 12))
def test_a_remembered_verdict_is_that_of_the_text(text, most):
    """Whatever stands in its strings, numbers and IRIs."""
    limits = LimitsConfig(nesting=most, operators=most, joins=most)
    counted = verdict(lambda text, limits: Counter(limits).count(text), text, limits)
    for other in (
        text,
        text.replace("'x'", "'(((' "),
        text.replace("'x'", '"} ; {"'),
        text.replace(" 1", " 27"),
    ):
        assert verdict(_check, other, limits) == counted, other


def test_brackets_where_an_iri_could_be_are_counted_each_time():
    """Oxigraph reads `1<((2))&&3>0` as two comparisons: what is in it is not the same for all texts of a shape."""
    around = "SELECT * {{ ?s ?p ?o FILTER(1<{0}2{1}&&3>0) }}".format
    for _ in range(2):
        check_query(around("((", "))"), LIMITS)
        refused_by(check_query, around("(" * 300, ")" * 300))


def test_a_shape_is_counted_once(monkeypatch):
    """Applications send the same text with other values."""
    text = "SELECT * {{ ?s ?p ?o FILTER(?o > {} && ?p != <http://x/{}>) }}".format
    check_query(text(1, "once"), LIMITS)
    monkeypatch.setattr("triplewire.broker.guard.Counter", None)
    check_query(text(27, "more"), LIMITS)
