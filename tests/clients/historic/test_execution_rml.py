"""RML's test cases carried out by Spark: what plain Python makes of them, Spark must make too."""

from __future__ import annotations

import contextlib
import itertools
from functools import reduce

import pytest
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from support.record_lines import lines_of
from support.rml_case import EXCEPTIONS, cases

from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.execution import carried_out, joined, records
from triplewire.clients.historic.sources import table_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.xdist_group("rml_on_spark")]
AT_ONCE = 8  # cases in one job of Spark's: a job costs more than all that a case has to do


def frames_of(spark, case, directory):
    """What makes the case's records; an error where the mapping or a source is wrong."""
    with contextlib.chdir(directory):
        mapping = case.mapping(directory)
        used = {rule.source for rule in mapping.rules} | {
            rule.join.parent for rule in mapping.rules if rule.join is not None
        }
        tables = {source.name: table_of(spark, source) for source in mapping.sources if source.name in used}
        frames = []
        for table in tables.values():
            rows = carried_out(table, mapping)
            frames += [records(rows), *joined(rows, tables, mapping.base_iri)]
        return [frame.withColumn("case", F.lit(str(case))) for frame in frames]


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    """By each case's name its directory and its records, or its error."""
    found = {}
    frames = {}
    for case in cases():
        directory = tmp_path_factory.mktemp("case")
        try:
            frames[str(case)] = frames_of(spark, case, directory)
            found[str(case)] = (directory, [])
        except HistoryError as error:
            found[str(case)] = (directory, error)
    left = iter(frames.values())
    while some := list(itertools.islice(left, AT_ONCE)):
        union = reduce(lambda one, other: one.unionByName(other), itertools.chain(*some))
        for row in union.collect():
            found[row["case"]][1].extend(lines_of(row))
    return found


@pytest.mark.parametrize("case", cases(), ids=str)
def test_spark_makes_what_the_case_expects(made, case):
    """Quads compared as RDF, errors as errors; what can't pass must fail."""
    directory, outcome = made[str(case)]

    def evaluate(_):
        if isinstance(outcome, HistoryError):
            raise outcome
        broken = [line for line in outcome if not line.startswith("<") and '"reasons":["header"]' not in line]
        return {line for line in outcome if line.startswith("<")}, len(broken)

    if str(case) in EXCEPTIONS:
        with pytest.raises(AssertionError):
            case.check(directory, evaluate)
        return
    case.check(directory, evaluate)
