"""What is counted: brackets, operators, joins, and the planner's work; never less than what Oxigraph builds."""

from __future__ import annotations

import pytest
from support.worst_texts import TOGETHER, as_query

from triplewire.broker.complexity import Counter
from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import QueryTooComplex

FREE = LimitsConfig(nesting=10**6, operators=10**6, joins=10**4)


def passes(text, **limits):
    try:
        Counter(LimitsConfig(**limits)).count(text)
    except QueryTooComplex:
        return False
    return True


def least(text, limit):
    """The smallest value of the limit by which the text passes."""
    others = {"nesting": 10**6, "operators": 10**6, "joins": 10**4}
    return next(value for value in range(1, 500) if passes(text, **(others | {limit: value})))


def cost(text):
    counter = Counter(FREE)
    counter.count(text)
    return counter.cost


@pytest.mark.parametrize(
    ("body", "joins"),
    [
        ("?s ?p ?o", 1),
        ("?s ?p ?o . ?s ?p ?o", 2),
        ("?s ?p ?o ; ?p ?o , ?o", 3),
        ("?s <a>/<b>/<c> ?o", 3),
        ("?s (<a>|^<b>|!<c>)* ?o", 4),
        ("?s ?p [ ?p ?o ; ?p ?o ]", 3),
        ("?s ?p (1 true a:b 'c' _:d ?e)", 14),
        ("?s ?p ?o ~?r ~ ?q", 3),
        ("?s ?p ?o {| ?p ?o |}", 3),
        ("<< ?s ?p ?o >> ?p ?o", 3),
        ("?s ?p <<( ?s ?p ?o )>>", 2),
        ("?s ?p ?o FILTER(1) ?s ?p ?o FILTER EXISTS {} ?s ?p ?o", 3),
        ("?s ?p ?o BIND(1 AS ?x) ?s ?p ?o OPTIONAL {} ?s ?p ?o MINUS {} ?s ?p ?o", 4),
        ("{ ?s ?p ?o . ?s ?p ?o } GRAPH ?g { ?s ?p ?o . ?s ?p ?o }", 5),
        ("?s ?p ?o VALUES ?x { 1 2 3 } VALUES (?y ?z) { (1 2) (3 4) } ?s ?p ?o", 4),
        ("?s ?p ?o OPTIONAL { ?s ?p ?o . ?s ?p ?o . ?s ?p ?o }", 3),
        ("?s ?p ?o MINUS { ?s ?p ?o . ?s ?p ?o } FILTER NOT EXISTS { ?s ?p ?o . ?s ?p ?o }", 2),
        ("{ ?s ?p ?o . ?s ?p ?o } UNION { ?s ?p ?o . ?s ?p ?o . ?s ?p ?o }", 3),
        ("{ SELECT * { ?s ?p ?o . ?s ?p ?o . ?s ?p ?o } } ?s ?p ?o", 3),
        ("FILTER(?a . ?b)", 1),
        ("FILTER(STR(?a) IN (1, 2, 3, 4) && GROUP_CONCAT(?x; SEPARATOR=',') = 1.5)", 1),
        ("?s ?p 'a.b;c' . # . . .\n ?s ?p <http://a.b/c;d,e>", 2),
    ],
)
def test_what_one_scope_joins(body, joins):
    """OPTIONAL, MINUS, EXISTS, UNION and sub-SELECT begin scopes of their own; an expression joins nothing."""
    assert least(as_query(body), "joins") == joins


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <a> <b> 1 . <a> <b> 2 , 3 ; <c> (1 2 3) . GRAPH <g> { <a> <b> [ <c> 1 ] } }",
        "DELETE DATA { <a> <b> 1 . <a> <b> 2 , 3 }",
        "DELETE { ?s ?p 1 . ?s ?p 2 . ?s ?p 3 } INSERT { ?s ?p 4 . ?s ?p 5 } WHERE { ?s ?p ?o }",
        "WITH <g> INSERT { GRAPH <h> { ?s ?p 1 . ?s ?p 2 . ?s ?p 3 } } USING <g> WHERE { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p 1 . ?s ?p 2 , 3 } { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o } VALUES (?s ?o) { (1 2) (3 4) }",
    ],
)
def test_data_and_templates_join_nothing(text):
    """However many triples they have."""
    assert least(text, "joins") <= 2


@pytest.mark.parametrize(
    ("text", "joins"),
    [("DELETE WHERE { ?s ?p ?o . ?s ?p ?o . ?s ?p ?o }", 3), ("CONSTRUCT WHERE { ?s ?p ?o . ?s ?p ?o }", 2)],
)
def test_a_template_that_is_its_pattern_is_a_pattern(text, joins):
    """In their short forms."""
    assert least(text, "joins") == joins


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("SELECT * { FILTER(1 + 2 * 3 - 4 / 5 = 6 && !7 || 8 != 9) }", 12),
        ("SELECT * { FILTER(1<2&&3>4) }", 6),
        ("SELECT * { FILTER(?x<?y-1&&?z>(4)) }", 7),
        ("SELECT * { FILTER(?x = <http://a-b/c&&d> && ?y != <e*f>) }", 6),
        ("SELECT * { FILTER(?x IN (<a-b>, <c-d>)) }", 4),
        ("SELECT * { FILTERBOUND(?x)FILTERNOTEXISTS{} }", 6),
        ("SELECT (1 AS ?x) (2 AS ?y) {}", 3),
        ("SELECT ?s { ?s (<a>|^<b>)*/!<c> ?o }", 6),
        ("SELECT ?s {} GROUP BY STR(?a) (?b) ORDER BY (?c) DESC(?d)", 5),
        ("SELECT ?s {} HAVING (1) (2)", 3),
        ("DESCRIBE <a> <b> ex:c ex:d", 3),
        ("INSERT DATA { <a> <b> -1 , +2 }", 1),
    ],
)
def test_what_is_an_operator(text, operators):
    """All that makes the algebra's tree deeper, whether or not there is a space around it."""
    assert least(text, "operators") == operators


@pytest.mark.parametrize(
    ("text", "nesting"),
    [
        ("SELECT * { FILTER(((1))) }", 5),
        ("SELECT * { ?s ?p [ <p> ( <<( ?a ?b ?c )>> ) ] }", 5),
        ("SELECT * { ?s ?p ?o {| ?p << ?a ?b ?c >> |} }", 4),
        ("SELECT * { FILTER(1<((2))&&3>4) }", 5),
        ("SELECT * { FILTER(1<((2)&&3>4)) }", 5),
        ("SELECT * { '((((' <((((> ?x # ((((\n }", 2),
        ("INSERT DATA { GRAPH <g> { <a> <b> [ <c> [ <d> 1 ] ] } }", 5),
    ],
)
def test_what_is_a_bracket(text, nesting):
    """Of any kind; not in strings, comments and IRIs, unless Oxigraph reads a comparison where an IRI could stand."""
    assert least(text, "nesting") == nesting


def test_brackets_are_closed_by_what_oxigraph_closes_them_with():
    """A bracket that hides in a comparison does not close one that stands in the open."""
    level = "(1<(2&&3>4)&&"
    assert not passes(f"SELECT * {{ FILTER{level * 60}1{')' * 60} }}", nesting=50)


def test_each_operation_of_an_update_has_its_own_operators():
    """But the planner's work adds up."""
    one = "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(?o > 1 + 2 + 3) }"
    assert passes(";".join([one] * 50), operators=5)
    assert cost(";".join([one] * 50)) == 50 * cost(one)
    assert not passes(";".join([f"INSERT {{}} WHERE {{ {'?s ?p ?o . ' * 60} }}"] * 9))
    assert cost("INSERT DATA { <a> <b> 1 } ; CLEAR ALL ; DELETE DATA { <a> <b> 1 }") == 0


@pytest.mark.parametrize(("path", "allowed"), [("<a>*", True), ("((<a>*)+/<b>)*", True), ("(((<a>*)*)*)*", False), ("((((<a>+/<b>)+|<c>)*)?)+", False), ("(<a>*)*/(<b>*)*/(<c>+)+", True)])  # fmt: skip
def test_closures_nest_three_deep(path, allowed):
    """Each level takes its number of nodes times longer; `?` does not."""
    assert passes(f"SELECT * {{ ?s {path} ?o }}") is allowed


def test_steps_that_the_planner_can_not_take_apart_double_its_work():
    """Among alternatives and in closures; a plain sequence is as many joins."""
    plain, alternative, closed = (
        [cost(f"SELECT * {{ ?s {before}{'/'.join(['<p>'] * steps)}{after} ?o }}") for steps in (10, 11)]
        for before, after in (("", ""), ("", "|<q>"), ("(", ")+"))
    )
    assert plain[1] < plain[0] * 1.6
    assert alternative[1] > alternative[0] * 2
    assert closed[1] > closed[0] * 2


def test_each_select_around_a_scope_doubles_its_work():
    """An aggregate is looked at twice, with all that is in it."""
    costs = [
        cost(f"SELECT * {'{ SELECT ?s {' * depth} ?s ?p ?o {'} GROUP BY ?s }' * depth} ")
        for depth in (10, 11)
    ]
    assert costs[1] > costs[0] * 2


def test_a_filter_is_copied_into_every_branch():
    """So its size times their number is bounded; each alone may be large."""
    values = f"FILTER(?s IN ({','.join(['1'] * 50_000)}))"
    branches = " UNION ".join(["{ ?s ?p ?o }"] * 100)
    assert passes(f"SELECT * {{ ?s ?p ?o {values} }}")
    assert passes(f"SELECT * {{ {branches} }}")
    assert not passes(f"SELECT * {{ {branches} {values} }}")
    assert not passes(f"SELECT * {{ {branches} FILTER EXISTS {{ ?a ?b ?c {values} }} }}")


@pytest.mark.parametrize("name", TOGETHER)
def test_work_grows_with_what_stands_together(name):
    """Each of the families of scopes that are small alone."""
    costs = [cost(as_query(TOGETHER[name](number))) for number in (2, 8, 20)]
    assert costs == sorted(costs)
