"""RML's test cases carried out by Spark: what plain Python makes of them, Spark must make too."""

from __future__ import annotations

import pytest
from support.rml_case import EXCEPTIONS, cases

from triplewire.clients.historic.execution import carried_out, joined, records
from triplewire.clients.historic.sources import table_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", [case for case in cases() if str(case) not in EXCEPTIONS], ids=str)
def test_spark_makes_what_the_case_expects(spark, case, tmp_path):
    """Quads compared as RDF, errors as errors."""

    def evaluate(mapping):
        used = {rule.source for rule in mapping.rules} | {
            rule.join.parent for rule in mapping.rules if rule.join is not None
        }
        tables = {source.name: table_of(spark, source) for source in mapping.sources if source.name in used}
        frames = []
        for table in tables.values():
            rows = carried_out(table, mapping)
            frames += [records(rows), *joined(rows, tables, mapping.base_iri)]
        found = [row.line for frame in frames for row in frame.collect()]
        lines = {line for line in found if line.startswith("<")}
        broken = [line for line in found if not line.startswith("<") and '"reasons":["header"]' not in line]
        return lines, len(broken)

    case.check(tmp_path, evaluate)
