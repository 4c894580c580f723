"""Terms in the place of variables."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import ProfileError
from triplewire.jsap.forced_bindings import bind, near
from triplewire.jsap.terms import UNDEF, ForcedBinding

URI = {"v": ForcedBinding("uri")}
LITERAL = {"v": ForcedBinding("literal")}
PREFIXES = {"p": "urn:p"}
DATA = "INSERT DATA {<urn:a> <urn:p> 1, 2 . <urn:b> <urn:p> 3 . <urn:a> <urn:q> <urn:b> . <urn:b> <urn:q> <urn:a>}"


def _bound(text, value="urn:a", declared=URI):
    return bind(text, declared, {"v": value}, {})


def _rows(text):
    """The answer on a little store, as strings."""
    store = ox.Store()
    store.update(DATA)
    return sorted([str(node) for node in row] for row in store.query(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ASK {?v ?p $v}", "ASK {<urn:a> ?p <urn:a>}"),
        ("ASK {?s ?p ?v.?s ?p ?v;?q ?v,?v}", "ASK {?s ?p <urn:a> .?s ?p <urn:a> ;?q <urn:a>,<urn:a>}"),
        ("ASK {?vv ?v_ ?v1 . ?w ?x 'v'}", "ASK {?vv ?v_ ?v1 . ?w ?x 'v'}"),
        ("ASK {?s ?p '?v', \"$v\", '''?v'''}", "ASK {?s ?p '?v', \"$v\", '''?v'''}"),
        ("ASK {?s ?p <?v>, <urn:?v> } # ?v", "ASK {?s ?p <?v>, <urn:?v> } # ?v"),
        ("ASK {?s ?p ?v # ?v\n}", "ASK {?s ?p <urn:a> # ?v\n}"),
        ("ASK {?s ?p ?o FILTER(?o<?v)}", "ASK {?s ?p ?o FILTER(?o< <urn:a>)}"),
        ("ASK {?s ?p ?o FILTER(?v-1=?v)}", "ASK {?s ?p ?o FILTER(<urn:a> -1= <urn:a>)}"),
        ("SELECT*FROM?v{}", "SELECT*FROM <urn:a> {}"),
        ("DROP SILENT GRAPH ?v", "DROP SILENT GRAPH <urn:a>"),
        (
            "WITH ?v INSERT {?s ?p ?v} USING ?v WHERE {}",
            "WITH <urn:a> INSERT {?s ?p <urn:a>} USING <urn:a> WHERE {}",
        ),
    ],
)
def test_only_that_variable_is_replaced(text, expected):
    """Never a longer name, and nothing in strings, comments and IRIs."""
    assert _bound(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ?v ?o {?v <urn:p> ?o}", [["<urn:a>", "1"], ["<urn:a>", "2"]]),
        ("SELECT DISTINCT ?v {?v <urn:p> ?o}", [["<urn:a>"]]),
        ("SELECT ?v (COUNT(?o) AS ?n) {?v <urn:p> ?o} GROUP BY ?v", [["<urn:a>", "2"]]),
        (
            "SELECT ?v (COUNT(DISTINCT ?v) AS ?n) {?v <urn:p> ?o} GROUP BY ?v HAVING (?v = ?v)",
            [["<urn:a>", "1"]],
        ),
        ("SELECT ?o {?v <urn:p> ?o} ORDER BY ?v DESC(?v) ?o", [["1"], ["2"]]),
        ("SELECT ?o {?v <urn:p> ?o FILTER BOUND(?v)}", [["1"], ["2"]]),
        ("SELECT ?o {?v <urn:p> ?o FILTER (!BOUND(?v))}", []),
        ("SELECT ?o {?v <urn:p> ?o} HAVING BOUND(?v) ", None),
        ("SELECT ?v ?o {{SELECT ?v ?o {?v <urn:p> ?o}}}", [["<urn:a>", "1"], ["<urn:a>", "2"]]),
        ("SELECT ?v ?x {{SELECT ?v {?v <urn:p> ?o}} ?v <urn:q> ?x}", [["<urn:a>", "<urn:b>"]] * 2),
        ("SELECT ?v ?x {{SELECT DISTINCT ?v {?v <urn:p> ?o}} ?v <urn:q> ?x}", [["<urn:a>", "<urn:b>"]]),
        ("SELECT ?v ?n {{SELECT ?v (COUNT(*) AS ?n) {?v <urn:p> ?o} GROUP BY ?v}}", [["<urn:a>", "2"]]),
        ("SELECT ?v {{SELECT * {{SELECT ?v {?v <urn:q> ?o}}}}}", [["<urn:a>"]]),
        ("SELECT (?v AS ?w) ?v {}", [["<urn:a>", "<urn:a>"]]),
        ("SELECT (STR(?v) AS ?w) {} VALUES ?x {?v}", [['"urn:a"']]),
        ("SELECT ?o {VALUES ?s {?v <urn:b>} ?s <urn:p> ?o}", [["1"], ["2"], ["3"]]),
        ("SELECT * {?v <urn:p> ?o}", [["1"], ["2"]]),
        ("SELECT ?x {?x <urn:q> ?y FILTER NOT EXISTS {?v <urn:q> ?x}}", [["<urn:a>"]]),
    ],
)
def test_the_answer_is_that_for_the_value(text, expected):
    """The column of a forced variable stays, and holds the value in each row."""
    if expected is None:
        ox.Store().query(_bound("SELECT (COUNT(*) AS ?n) {?v <urn:p> ?o} HAVING BOUND(?v)"))
    else:
        short = [
            [
                node.replace("^^<http://www.w3.org/2001/XMLSchema#integer>", "").strip('"')
                if "integer" in node
                else node
                for node in row
            ]
            for row in _rows(_bound(text))
        ]
        assert short == expected


def test_constructs_and_descriptions():
    """Their templates and lists take terms as they take variables."""
    store = ox.Store()
    store.update(DATA)
    triples = list(store.query(_bound("CONSTRUCT {?v <urn:r> ?o} WHERE {?v <urn:p> ?o}")))
    assert {str(triple.subject) for triple in triples} == {"<urn:a>"}
    assert list(store.query(_bound("DESCRIBE ?v")))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {BIND(1 AS ?v)}",
        "SELECT (1 AS ?v) {}",
        "SELECT * {VALUES ?v {1}}",
        "SELECT * {VALUES (?x ?v) {(1 2)}}",
        "SELECT (COUNT(*) AS ?n) {} GROUP BY (1 as $v)",
        "INSERT {?s ?p ?v} WHERE {BIND(UUID() AS ?v)}",
    ],
)
@pytest.mark.parametrize("value", ["urn:a", ["urn:a", "urn:b"]])
def test_a_variable_that_the_text_assigns_can_not_be_forced(text, value):
    """AS and VALUES give it values of their own."""
    with pytest.raises(ProfileError, match=r"v: \?v can't be forced: the text assigns it"):
        _bound(text, value)


def test_a_blank_node_can_not_be_selected():
    """In a query it is a variable by another name; in an update's data it is a node."""
    declared = {"v": ForcedBinding("bnode")}
    for text in ("SELECT ?v {?v ?p ?o}", "SELECT ?o {?v ?p ?o} GROUP BY ?v"):
        with pytest.raises(ProfileError, match="a blank node can't stand"):
            _bound(text, "_:x", declared)
    store = ox.Store()
    store.update(_bound("INSERT DATA {?v <urn:p> 1 ; <urn:q> ?v}", "_:x", declared))
    assert len({quad.subject for quad in store}) == 1


def test_undef():
    """In the data of VALUES it is UNDEF; elsewhere the variable stays one."""
    text = "SELECT ?v {VALUES ?s {?v} ?s <urn:q> ?v FILTER BOUND(?v)} ORDER BY ?v"
    for value in (UNDEF, "UNDEF"):
        bound = _bound(text, value)
        assert bound == text.replace("{?v}", "{UNDEF}")
        assert _rows(bound) == [["<urn:a>"], ["<urn:b>"]]
    assert _bound("ASK {?s ?p ?v}", "UNDEF", LITERAL) == 'ASK {?s ?p "UNDEF"}'


def test_a_missing_value_is_named():
    """The variable, and by the path its entry."""
    with pytest.raises(ProfileError, match=r"\?v needs a value; it has no default") as raised:
        bind("ASK {?v ?p ?o}", URI, {}, {}, path="queries.Q.forcedBindings")
    assert raised.value.path == "queries.Q.forcedBindings.v"


def test_defaults_stand_where_no_value_is_given():
    """None is no value; the empty string is a literal."""
    declared = {"v": ForcedBinding("literal", "x"), "w": ForcedBinding("literal", "")}
    assert bind("ASK {?s ?v ?w}", declared, {}, {}) == 'ASK {?s "x" ""}'
    assert bind("ASK {?s ?v ?w}", declared, {"v": None}, {}) == 'ASK {?s "x" ""}'
    with pytest.raises(ProfileError, match="needs a value"):
        bind("ASK {?v ?p ?o}", {"v": ForcedBinding("uri", "")}, {}, {})


def test_a_value_for_an_unknown_variable_is_an_error():
    """Names close to it are told."""
    declared = {"sender": ForcedBinding("uri"), "receiver": ForcedBinding("uri")}
    with pytest.raises(
        ProfileError, match=r"reciever: no forced binding is called 'reciever'; did you mean receiver\?"
    ):
        bind("ASK {}", declared, {"reciever": "urn:a"}, {})


def test_nothing_is_bound_where_nothing_is_forced():
    """The text stays as it is."""
    assert bind("ASK {?v ?p ?o}", {}, {}, {}) == "ASK {?v ?p ?o}"
    with pytest.raises(ProfileError, match="there are none"):
        bind("ASK {?v ?p ?o}", {}, {"v": 1}, {})


@given(st.permutations(["?a", "?ab", "$a", "?b", "?ba"]), st.sampled_from([" ", ".", "\n", "}", "<", "^"]))
def test_names_that_begin_alike(variables, between):
    """However they stand side by side, only whole names are replaced."""
    text = between.join(variables)
    bound = bind(text, {"a": ForcedBinding("uri", "urn:x")}, {}, {})
    assert bound.count("<urn:x>") == 2
    assert bound.count("?ab") == bound.count("?ba") == 1


def test_hints():
    """Close names, or all of them if they are few."""
    assert near("sende", ["sender", "x"]) == "; did you mean sender?"
    assert near("q", ["b", "a"]) == "; there are a, b"
    assert near("qqqq", [f"n{index:02}" for index in range(12)]).endswith("n09 and 2 more")
    assert near("q", []) == "; there are none"
