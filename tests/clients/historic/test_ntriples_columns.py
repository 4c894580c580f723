"""Terms of N-Triples in columns."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import functions as F  # noqa: N812

from triplewire.clients.historic.ntriples_columns import iri_term, moment_of, number_of

XSD = "http://www.w3.org/2001/XMLSchema#"
NUMBERS = {
    f'"21.5"^^<{XSD}double>': 21.5,
    f'"-.5E1"^^<{XSD}decimal>': -5.0,
    '"7"': 7.0,
    f'"7."^^<{XSD}decimal>': 7.0,
    '"7"@en': None,
    '"7d"': None,
    '"0x7"': None,
    '" 7"': None,
    '"1e999"': None,
    f'"INF"^^<{XSD}double>': None,
    "<http://example.org/7>": None,
    "_:b7": None,
}
MOMENTS = {
    f'"2026-05-04T10:00:00Z"^^<{XSD}dateTime>': datetime(2026, 5, 4, 10, tzinfo=UTC),
    f'"2026-05-04T10:00:00+05:30"^^<{XSD}dateTimeStamp>': datetime(2026, 5, 4, 4, 30, tzinfo=UTC),
    f'"2026-05-04T10:00:00"^^<{XSD}dateTime>': datetime(2026, 5, 4, 10, tzinfo=UTC),
    f'"2026-05-04T10:00:00.1234567Z"^^<{XSD}dateTime>': datetime(2026, 5, 4, 10, 0, 0, 123456, tzinfo=UTC),
    f'"2026-02-30T10:00:00Z"^^<{XSD}dateTime>': None,
    f'"-2026-05-04T10:00:00Z"^^<{XSD}dateTime>': None,
    f'"2026-05-04"^^<{XSD}date>': None,
    '"2026-05-04T10:00:00Z"': None,
}


def test_numbers_and_moments(spark):
    """What XSD calls so, and nothing that Spark would make of other texts."""
    rows = [(term,) for term in [*NUMBERS, *MOMENTS]]
    frame = spark.createDataFrame(rows, "term string")
    term = F.col("term")
    found = frame.select("term", number_of(term).alias("number"), moment_of(term).alias("moment")).collect()
    assert {row.term: row.number for row in found if row.term in NUMBERS} == NUMBERS
    moments = {row.term: row.moment and row.moment.astimezone(UTC) for row in found if row.term in MOMENTS}
    assert moments == MOMENTS


@pytest.mark.parametrize("iri", ["a b", "relative", "http://x/>", "http://x/\n", ""])
def test_no_iris(iri):
    """They can't get into a term."""
    with pytest.raises(ValueError, match="not a whole IRI"):
        iri_term(iri)


def test_iris():
    """In brackets."""
    assert iri_term("urn:x") == "<urn:x>"
