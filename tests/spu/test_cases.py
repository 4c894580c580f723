"""A row leads to the cases that it would lead to if each were looked at."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Store, Variable

from triplewire.spu.analysis.analysis import Condition
from triplewire.spu.cases import Case, Cases
from triplewire.spu.numbers import OPERATORS, XSD, holds

PLACES = {"v": 0, "room": 1, "w": 2, "kind": 3}
V, W = Variable("v"), Variable("w")
ROOMS = [NamedNode("urn:hall"), NamedNode("urn:kitchen"), Literal(1), BlankNode("b")]


def typed(text, kind):
    """A literal of XML Schema."""
    return Literal(text, datatype=NamedNode(XSD + kind))


# Oxigraph can tell what it is, and `number` can not.
LONG = "1" + "0" * 19 + ".5"
# Near each other, or equal in one type and not in another; and what is no number, or too long to be told at once.
NEAR = [
    *(typed(text, "integer") for text in ("0", "-0", "1", "-1", "2", "10", "9007199254740993", "1" * 25)),
    *(typed(text, "decimal") for text in ("0.1", "1.0", "-1.5", "2.", "9007199254740992.5", "0." + "1" * 25)),
    *(typed(text, "decimal") for text in (LONG, "1." + "0" * 20, "-" + LONG)),
    *(typed(text, "double") for text in ("0", "1E-1", "1e0", "1.0000001", "9007199254740992", "1e300")),
    *(typed(text, "double") for text in ("INF", "-INF", "NaN", "-0.0", "-1.5", "0.99999999")),
    *(typed(text, "float") for text in ("0.1", "1", "16777217", "-1.5", "INF")),
]
ODD = [
    None,
    NamedNode("urn:1"),
    BlankNode("b"),
    Literal("1"),
    Literal("1", language="en"),
    typed("x", "integer"),
]
numbers = st.one_of(
    st.sampled_from(NEAR),
    st.integers(-4, 4).map(lambda value: typed(str(value), "integer")),
    st.decimals(-4, 4, places=1).map(lambda value: typed(str(value), "decimal")),
    st.floats(-4, 4).map(lambda value: typed(repr(value), "double")),
)
conditions = st.builds(Condition, st.sampled_from([V, V, V, W]), st.sampled_from(list(OPERATORS)), numbers)
cases = st.builds(
    Case,
    st.sampled_from([(room,) for room in ROOMS]),
    st.just((V,)),
    st.sampled_from([("v",), ("value",)]),
    st.one_of(st.just(()), *(st.tuples(*[conditions] * count) for count in (1, 1, 2, 3))),
)
values = st.one_of(numbers, numbers, numbers, st.sampled_from(ODD))
rows = st.tuples(values, st.sampled_from([*ROOMS, ROOMS[0], None]), values, st.none())


def belongs(row, case):
    """The definition, one by one."""
    return row[PLACES["room"]] == case.constants[0] and all(
        holds(row[PLACES[one.variable.value]], one.operator, one.number) for one in case.conditions
    )


def found(there, row, places=None):
    """The cases of a row; each at most once."""
    counted = Counter(there.of(row, PLACES if places is None else places))
    assert set(counted.values()) <= {1}
    return set(counted)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(cases, min_size=1, max_size=30, unique=True),
    st.data(),
    st.lists(rows, min_size=1, max_size=12),
)
def test_a_row_leads_to_its_cases_and_no_others(wanted, data, asked):
    """Whatever came and went before; in the end nothing is left."""
    there, expected = Cases(["room"]), set()
    for case in [*wanted, *data.draw(st.lists(st.sampled_from(wanted), max_size=20))]:
        if case in expected:
            there.remove(case)
            expected.discard(case)
        else:
            there.add(case)
            expected.add(case)
    for row in asked:
        assert found(there, row) == {case for case in expected if belongs(row, case)}
    for case in data.draw(st.permutations(sorted(expected, key=str))):
        there.remove(case)
    assert not any(found(there, row) for row in asked)
    assert not there._by_constants


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(list(OPERATORS)), st.lists(numbers, min_size=1, max_size=40, unique=True), values)
def test_many_thresholds_of_one_comparison(operator, thresholds, value):
    """As they are most often: the rows of one column, compared in one way."""
    there = Cases(["room"])
    wanted = [Case((ROOMS[0],), (V,), ("v",), (Condition(V, operator, one),)) for one in thresholds]
    for case in wanted:
        there.add(case)
    row = (value, ROOMS[0], None, None)
    assert found(there, row) == {case for case in wanted if holds(value, operator, case.conditions[0].number)}
    for case in wanted[::2]:
        there.remove(case)
    rest = {case for case in wanted[1::2] if holds(value, operator, case.conditions[0].number)}
    assert found(there, row) == rest


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "value", ["3", "3.0", "3e0", "-3", "0.1", "1e-1", "9007199254740993", "9007199254740992e0"]
)
def test_it_is_what_oxigraph_says(operator, value):
    """Of a table of thresholds, as they are written in a query."""
    texts = ["-3", "-2.5", "0", "0.1", "1e-1", "2", "3", "3.0", "3e0", "3.1", "31e-1", "9007199254740992.0"]
    texts += ["9007199254740993", "9007199254740993e0", "1e20"]
    there, written, empty = Cases([]), {}, Store()
    for text in texts:
        number = next(iter(empty.query(f"SELECT ({text} AS ?n) {{}}")))["n"]
        case = Case((), (V,), (text,), (Condition(V, operator, number),))
        there.add(case)
        written[case] = text
    (row,) = empty.query(f"SELECT ({value} AS ?n) {{}}")
    said = {text for text in texts if empty.query(f"ASK {{ FILTER({value} {operator} {text}) }}")}
    assert {written[case] for case in found(there, (row["n"], None, None, None))} == said


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_number_against_every_other(operator):
    """Each kind, where rounding decides, and where it seems to."""
    there = Cases([])
    wanted = [Case((), (V,), ("v",), (Condition(V, operator, one),)) for one in NEAR]
    for case in wanted:
        there.add(case)
    for value in [*NEAR, *ODD]:
        expected = {case for case in wanted if holds(value, operator, case.conditions[0].number)}
        assert found(there, (value, None, None, None)) == expected, value


def test_what_is_too_long_to_be_sorted_is_found_all_the_same():
    """And alone, when all others have gone."""
    there = Cases([])
    first, second = (
        Case((), (V,), (name,), (Condition(V, ">", typed(LONG, "decimal")),)) for name in ("v", "value")
    )
    row = (typed("1e300", "double"), None, None, None)
    there.add(first)
    there.add(second)
    assert found(there, row) == {first, second}
    there.remove(first)
    assert found(there, row) == {second}
    there.remove(second)
    assert not found(there, row)


def test_without_constants_all_have_the_same():
    """What differs in numbers only."""
    there = Cases([])
    plain, high = (
        Case((), (V,), ("v",)),
        Case((), (V,), ("v",), (Condition(V, ">", typed("30", "integer")),)),
    )
    there.add(plain)
    there.add(high)
    assert found(there, (typed("31", "integer"), None, None, None)) == {plain, high}
    assert found(there, (typed("30", "integer"), None, None, None)) == {plain}
    there.remove(plain)
    assert found(there, (typed("31", "integer"), None, None, None)) == {high}


def test_constants_are_read_in_the_order_of_the_lifted_columns():
    """Wherever the columns are in a row, which can differ from one answer to the next."""
    there = Cases(["room", "kind"])
    case = Case((ROOMS[0], Literal("k")), (V,), ("v",))
    there.add(case)
    assert found(there, (None, ROOMS[0], None, Literal("k"))) == {case}
    assert not found(there, (None, Literal("k"), None, ROOMS[0]))
    assert found(there, (Literal("k"), ROOMS[0]), {"kind": 0, "room": 1}) == {case}


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("5", "integer", 5),
        ("5.5", "decimal", 6),
        ("5e0", "double", 5),
        ("1e9", "double", 2000),
        ("NaN", "double", 0),
    ],
)
def test_few_of_many_thresholds_are_compared_one_by_one(monkeypatch, value, kind, expected):
    """Those that rounding could decide; the others are found by where they stand."""
    compared = []

    def counted(*asked):
        compared.append(asked)
        return holds(*asked)

    monkeypatch.setattr("triplewire.spu.cases.holds", counted)
    there = Cases([])
    for number in range(2000):
        there.add(Case((), (V,), ("v",), (Condition(V, ">", typed(str(number), "integer")),)))
    assert len(found(there, (typed(value, kind), None, None, None))) == expected
    assert len(compared) <= 1
