"""Texts of expressions: those of readings need no long way into an IRI, and each is made once."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from triplewire.clients.historic.plan import Encoding, Lookup, Moment, Number, Reference, Source, Template
from triplewire.clients.historic.table import Table
from triplewire.clients.historic.texts import Texts

WHEN = Reference("t", reading=Moment(zone="Europe/Berlin"))
HOW_MUCH = Reference("n", reading=Number())
TEMPLATE = Template(("o/", Reference("x"), "/", WHEN, "/", HOW_MUCH))


def texts(spark):
    rows = [(("a b", "2020-07-01 02:00", "1,50"),), (("ä", "2020-01-01", "7e3"),), (("x", None, "1"),)]
    frame = spark.createDataFrame(rows, "row struct<x: string, t: string, n: string>")
    return Texts(Table(Source("s", "", "csv", nulls=()), frame, frame))


def test_values_are_encoded_and_readings_are_canonical(spark):
    """A moment's colons are all that there is to encode; one null makes it null."""
    maker = texts(spark)
    found = maker.of(TEMPLATE, Encoding.IRI)
    assert found.start == "o/"
    made = maker.steps.on(maker.table.frame).select(found.text.alias("text"))
    expected = [None, "o/ä/2019-12-31T23%3A00%3A00Z/7.0E3", None]
    assert [row.text for row in made.collect()] == expected


def test_an_expression_is_made_once(spark):
    """Asked again, the same columns."""
    maker = texts(spark)
    lookup = Lookup(Reference("x"), (("x", "y"),))
    assert maker.of(lookup, Encoding.NONE) is maker.of(lookup, Encoding.NONE)
    assert maker.of(TEMPLATE, Encoding.IRI) is maker.of(TEMPLATE, Encoding.IRI)
    assert maker.of(TEMPLATE, Encoding.NONE) is not maker.of(TEMPLATE, Encoding.IRI)


def test_what_is_bound_is_made_anew(spark):
    """A lambda's value stands nowhere else."""
    maker = texts(spark)
    reference = Reference("x")
    bound = maker.binding(reference, F.to_variant_object(F.array(F.lit("z")))[0])
    assert reference in bound.bound
    assert bound.known == {}
    assert bound.steps is maker.steps
