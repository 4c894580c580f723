"""What one row says of one subject, in order whether or not the mapping tells it beforehand."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from support.record_lines import lines_of

from triplewire.clients.historic.statements import Said, statements
from triplewire.clients.historic.steps import Steps
from triplewire.clients.historic.term_maps import Made

SOSA = "http://www.w3.org/ns/sosa/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ROW = ("<urn:s>", "<urn:o>", "<urn:p9>", ["<urn:o2>", "<urn:o1>", "<urn:o2>"], None, True, False)
COLUMNS = "s string, o string, p string, many array<string>, n string, yes boolean, no boolean"


def constant(text):
    return lambda: Made(F.lit(text), constant=text)


def column(name, *, many=False):
    return lambda: Made(F.col(name), many=many)


def said(*terms, given=None):
    """Made when there is a session, without which there are no columns."""
    made = [column("s"), *terms]
    return lambda: Said(tuple(term() for term in made), None if given is None else F.col(given))


def made(spark, row, *each):
    steps = Steps()
    record = statements(F.col("s"), [one() for one in each], steps, "key")
    frame = steps.on(spark.createDataFrame([row], COLUMNS)).select(*record.columns(F.lit(1)))
    (found,) = frame.collect()
    return found


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        # By predicates: `>` comes before `a`.
        (
            [
                said(constant("<urn:pa>"), column("o")),
                said(constant("<urn:p>"), column("o")),
            ],
            ["<urn:p> <urn:o>", "<urn:pa> <urn:o>"],
        ),
        # By constant objects, in a graph.
        (
            [
                said(constant("<urn:p>"), constant("<urn:b>"), column("o")),
                said(constant("<urn:p>"), constant("<urn:a>")),
            ],
            ["<urn:p> <urn:a>", "<urn:p> <urn:b> <urn:o>"],
        ),
        # One predicate and two columns: only the row can tell; what is said twice stands once.
        (
            [
                said(constant("<urn:p>"), column("s")),
                said(constant("<urn:p>"), column("o")),
                said(constant("<urn:p>"), column("o")),
            ],
            ["<urn:p> <urn:o>", "<urn:p> <urn:s>"],
        ),
        # Predicates of the row, and many objects.
        (
            [said(column("p"), column("o")), said(constant("<urn:p>"), column("many", many=True))],
            ["<urn:p9> <urn:o>", "<urn:p> <urn:o1>", "<urn:p> <urn:o2>"],
        ),
        # Nulls, and what is not given.
        (
            [
                said(constant("<urn:p1>"), column("n")),
                said(constant("<urn:p2>"), column("o"), given="yes"),
                said(constant("<urn:p3>"), column("o"), given="no"),
            ],
            ["<urn:p2> <urn:o>"],
        ),
    ],
)
def test_in_order_each_once(spark, each, expected):
    """And counted."""
    assert lines_of(made(spark, ROW, *each)) == [f"<urn:s> {line} ." for line in expected]


@pytest.mark.parametrize(
    "each",
    [
        [said(constant("<urn:p>"), column("n"))],
        [said(constant("<urn:p>"), column("n")), said(constant("<urn:p>"), column("n"))],
    ],
)
def test_nothing_is_said(spark, each):
    """Then there is no record of the subject."""
    found = made(spark, ROW, *each)
    assert (found.subject, found.made, found.rows) == (None, 0, 1)


def test_without_a_subject(spark):
    """Nothing is said of it, whatever else the row has."""
    found = made(spark, (None, *ROW[1:]), said(constant("<urn:p>"), column("o")))
    assert found.subject is None


@pytest.mark.parametrize("sorted_", [False, True])
def test_what_it_tells_of_an_observation(spark, sorted_):
    """By constant predicates and by those of the row; the later of two times."""
    row = (
        "<urn:s>",
        "<urn:sensor>",
        f"<{SOSA}resultTime>",
        None,
        '"1970-01-01T00:00:02Z"^^<urn:t>',
        True,
        False,
    )
    each = [
        said(constant(TYPE), constant(f"<{SOSA}Observation>")),
        said(constant(f"<{SOSA}madeBySensor>"), column("o")),
        said(constant(f"<{SOSA}resultTime>"), column("n")),
        said(constant("<urn:not>"), column("o"), given="no"),
    ]
    if sorted_:
        each.append(said(column("p"), constant('"1970-01-01T00:00:01Z"^^<urn:t>')))
    found = made(spark, row, *each)
    assert (found.typed, found.sensor, found.time) == (True, "urn:sensor", 2_000_000)
    none = made(spark, row, said(constant(TYPE), constant("<urn:x>")), said(constant("<urn:p>"), column("o")))
    assert (none.typed, none.sensor, none.time) == (None, None, None)
