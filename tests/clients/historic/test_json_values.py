"""Places in JSON values, and texts that are one value and nothing else."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.json_values import _member, all_of, at_each, json_at, unwrapped, wrapped

TEXTS = (
    "1",
    ' {"a": [1]} ',
    '"x"',
    "null",
    "",
    "1 2",
    "1,2",
    "1]",
    "1}",
    '1,"x":2',
    "[1",
    '{"a":1}{"a":2}',
    "nul",
)


def test_a_text_is_one_value_and_nothing_else(spark):
    """What follows a value is not passed over."""
    frame = spark.createDataFrame([(text,) for text in TEXTS], "text string")
    found = frame.select("text", F.to_json(unwrapped(wrapped(F.col("text")))).alias("value")).collect()
    values = {row.text: row.value and json.loads(row.value) for row in found}
    assert [text for text in TEXTS if values[text] is None] == [*TEXTS[3:]]
    assert [values[text] for text in TEXTS[:3]] == [1, {"a": [1]}, "x"]


def test_steps(spark):
    """Members by any name, elements, all of them; null where there is nothing."""
    document = {"a b": {"it's": [1, {"x": 2}], 'say "x"': 3, "1a": 4}, "o": {"x": 5, "y": 6}}
    value = F.try_parse_json(F.lit(json.dumps(document)))
    one = F.array(json_at(value, ("o",), "variant"))
    columns = {
        "quote": json_at(value, ("a b", "it's", 1, "x"), "string"),
        "quotes": json_at(value, ("a b", 'say "x"'), "string"),
        "digit": json_at(value, ("a b", "1a"), "string"),
        "nothing": json_at(value, ("a b", 7), "string"),
        "root": F.to_json(json_at(value, (), "variant")),
        "members": F.to_json(all_of(one)),
        "each": F.to_json(at_each(one, "x")),
    }
    (row,) = spark.range(1).select(*[column.alias(name) for name, column in columns.items()]).collect()
    assert json.loads(row.root) == document
    assert row[:4] == ("2", "3", "4", None)
    assert (row.members, row.each) == ("[5,6]", "[5]")


def test_a_name_with_both_kinds_of_quotes_is_refused():
    """Spark's paths can't say it."""
    with pytest.raises(SourceError, match="both kinds of quotes"):
        _member("a'\"")
