"""What several rules need is made once, and in order."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from triplewire.clients.historic.steps import TERM, Steps


def test_a_later_step_uses_an_earlier_one_and_equal_keys_are_one_column(spark):
    """The second column of a key is dropped."""
    steps = Steps()
    text = steps.put(0, "text", F.concat(F.col("x"), F.lit("-")))
    again = steps.put(0, "text", F.lit("never made"))
    late = steps.put(TERM, "twice", F.concat(text, again))
    made = steps.on(spark.createDataFrame([("a",), (None,)], "x string"))
    assert len(made.columns) == 3
    assert [row.found for row in made.select(late.alias("found")).collect()] == ["a-a-", None]
