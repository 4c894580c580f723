"""The judges of this folder can say no, and what skips.toml lists is there."""

from __future__ import annotations

from collections import Counter

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from w3c.exchanges import dialogues
from w3c.isomorphism import isomorphic
from w3c.manifests import cases
from w3c.results import NOT_SPARQL, XSD, Answer, Disagreement, check, decode
from w3c.skips import listed

A, B, C = BlankNode("a"), BlankNode("b"), BlankNode("c")
X, Y = NamedNode("urn:x"), NamedNode("urn:y")
INTEGER, DECIMAL = NamedNode(XSD + "integer"), NamedNode(XSD + "decimal")


def ring(*nodes: BlankNode) -> list[tuple[object, ...]]:
    """Each node beside the next, the last beside the first."""
    return list(zip(nodes, (*nodes[1:], nodes[0]), strict=True))


NODES = [BlankNode(f"n{number}") for number in range(6)]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], []),
        ([()], [()]),
        ([(X, Y), (Y, X)], [(Y, X), (X, Y)]),
        ([(X, None)], [(X, None)]),
        ([(A, B)], [(B, A)]),
        ([(A,), (A,), (B,)], [(C,), (A,), (C,)]),
        (ring(A, B, C), ring(C, B, A)),
        (ring(*NODES), ring(*NODES[::2], *NODES[1::2])),
    ],
)
def test_bags_that_differ_in_names_only_are_the_same(left, right):
    """The order of the rows and the names of the blank nodes count for nothing."""
    assert isomorphic(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], [()]),
        ([(X,)], [(X,), (X,)]),
        ([(X,)], [(Y,)]),
        ([(X,)], [(A,)]),
        ([(X, None)], [(None, X)]),
        ([(A, A)], [(A, B)]),
        ([(A, X), (A, Y)], [(A, X), (B, Y)]),
        ([(A,), (A,), (B,)], [(A,), (B,), (C,)]),
        (ring(A, B, C), [*ring(A, B), (C, C)]),
        (ring(*NODES), ring(*NODES[:3]) + ring(*NODES[3:])),
    ],
)
def test_bags_that_differ_otherwise_are_not(left, right):
    """A row more, another term, or two nodes for one make another bag, even where each node looks alike."""
    assert not isomorphic(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Literal("01", datatype=INTEGER), Literal("1", datatype=INTEGER)),
        (Literal("1.50", datatype=DECIMAL), Literal("1.5", datatype=DECIMAL)),
        (
            Literal("100", datatype=NamedNode(XSD + "double")),
            Literal("1e2", datatype=NamedNode(XSD + "double")),
        ),
        (
            Literal("1", datatype=NamedNode(XSD + "boolean")),
            Literal("true", datatype=NamedNode(XSD + "boolean")),
        ),
        (Literal("a", language="EN"), Literal("a", language="en")),
    ],
)
def test_literals_of_one_value_are_the_same(left, right):
    """How a number is spelt counts for nothing."""
    check(Answer(("v",), ((left,),)), Answer(("v",), ((right,),)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Literal("1", datatype=INTEGER), Literal("1", datatype=DECIMAL)),
        (Literal("1", datatype=INTEGER), Literal("1")),
        (Literal("01"), Literal("1")),
        (Literal("x", datatype=INTEGER), Literal("0x", datatype=INTEGER)),
        (Literal("a", language="en"), Literal("a")),
        (Literal("a"), NamedNode("urn:a")),
    ],
)
def test_literals_of_another_kind_are_not(left, right):
    """The datatype counts, and so does the spelling of a text."""
    with pytest.raises(Disagreement):
        check(Answer(("v",), ((left,),)), Answer(("v",), ((right,),)))


ROWS = ((X, Y), (Y, X))


@pytest.mark.parametrize(
    "expected",
    [
        Answer(("s", "p"), ROWS),
        Answer(("s", "o", "p"), ((X, Y, None), (Y, X, None))),
        Answer(("s", "o"), ROWS[::-1], ordered=True),
        Answer(("o", "s"), tuple(row[::-1] for row in ROWS), columns_ordered=True),
        Answer(("s", "o"), ROWS * 2),
        NOT_SPARQL,
    ],
)
def test_answers_can_disagree(expected):
    """By a variable, by duplicates, and by an order where order counts."""
    with pytest.raises(Disagreement):
        check(Answer(("s", "o"), ROWS), expected)


@pytest.mark.parametrize(
    "expected",
    [
        Answer(("s", "o"), ROWS[::-1]),
        Answer(("o", "s"), tuple(row[::-1] for row in ROWS)),
        Answer(("s", "o"), ROWS, ordered=True, columns_ordered=True),
    ],
)
def test_answers_can_agree(expected):
    """Whatever the order is where it does not count."""
    check(Answer(("s", "o"), ROWS), expected)


def test_duplicates_go_where_they_may():
    """REDUCED may leave out duplicates, and nothing else."""
    check(Answer(("s", "o"), ROWS), Answer(("s", "o"), ROWS * 2), lax=True)
    with pytest.raises(Disagreement):
        check(Answer(("s", "o"), ROWS[:1]), Answer(("s", "o"), ROWS), lax=True)


def test_an_answer_of_an_unknown_type_disagrees():
    """What is no results format and no RDF format is no answer."""
    with pytest.raises(Disagreement):
        decode(b"<html>", "text/html")


def test_cells_of_csv_are_values():
    """CSV tells numbers, texts and blank nodes apart by their looks only."""
    answer = decode(b'n,t,b\r\n1.0E2,"a,b",_:x\r\n', "text/csv; charset=utf-8")

    assert answer.variables == ("n", "t", "b")
    assert answer.rows == ((100.0, "a,b", BlankNode("x")),)


SIGNS, SYNTAXES = ("Positive", "Negative"), ("SyntaxTest", "SyntaxTest11", "UpdateSyntaxTest11")
SYNTAX_KINDS = tuple(sign + syntax for sign in SIGNS for syntax in SYNTAXES)


def test_only_tests_of_the_suites_are_listed(shared):
    """A name in skips.toml is the name of a test, and not of an update: all of those pass."""
    found = cases("QueryEvaluationTest", "CSVResultFormatTest", *SYNTAX_KINDS)

    assert set(listed()) <= {case.name for case in found}


def test_the_suites_are_read_whole(shared):
    """There are as many tests as the manifests enter, entailment aside."""
    counts = Counter(
        (case.name.partition("/")[0], case.kind)
        for case in cases("QueryEvaluationTest", "CSVResultFormatTest", "UpdateEvaluationTest", *SYNTAX_KINDS)
    )

    assert counts == {
        ("sparql10", "QueryEvaluationTest"): 283,
        ("sparql10", "PositiveSyntaxTest"): 149,
        ("sparql10", "NegativeSyntaxTest"): 50,
        ("sparql11", "QueryEvaluationTest"): 239,
        ("sparql11", "CSVResultFormatTest"): 3,
        ("sparql11", "UpdateEvaluationTest"): 94,
        ("sparql11", "PositiveSyntaxTest11"): 66,
        ("sparql11", "NegativeSyntaxTest11"): 48,
        ("sparql11", "PositiveUpdateSyntaxTest11"): 42,
        ("sparql11", "NegativeUpdateSyntaxTest11"): 13,
    }
    assert len(dialogues("sparql11/protocol/manifest.ttl")) == 34
    assert len(dialogues("sparql11/graph-store-protocol/manifest-*.ttl")) == 13
