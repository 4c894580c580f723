"""What Spark reads of a source, in one go: rows as dicts, and where each stands."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from triplewire.clients.historic.lines import numbered
from triplewire.clients.historic.plan import (
    Constant,
    Mapping,
    Reference,
    Rule,
    Source,
    Template,
    TermMap,
    TermType,
)
from triplewire.clients.historic.sources import table_of
from triplewire.clients.historic.table import HEADER


class Found(NamedTuple):
    """One row: its file's name, its line, its cells (None where there is a fault), the fault, and its text."""

    file: str
    line: int
    row: object
    fault: str | None
    raw: str


def found(spark, path, format_, **more):
    """All rows of a source in the order of their files and lines, without headers."""
    table = table_of(spark, Source("s", str(path), format_, **more))
    frame = numbered(table.frame, table).withColumn("cells", F.to_json("row", {"ignoreNullFields": "false"}))
    rows = [
        Found(
            PurePosixPath(row.file).name,
            row.line,
            None if row.fault or row.cells is None else json.loads(row.cells),
            row.fault,
            row.raw,
        )
        for row in frame.select("file", "line", "cells", "fault", "raw").collect()
        if row.fault != HEADER
    ]
    return sorted(rows, key=lambda row: (row.file, row.line))


BY_NUMBER = ("http://e/", Reference("n"))


def literals(*names, subject=BY_NUMBER, source="s"):
    """A rule for each name (a column, or a path): its value as a literal by its own type, at `urn:NAME`."""
    made = TermMap(Template(subject), TermType.IRI)
    return tuple(
        Rule(
            source,
            made,
            TermMap(Constant(f"urn:{name.name if isinstance(name, Reference) else name}"), TermType.IRI),
            TermMap(name if isinstance(name, Reference) else Reference(name), TermType.LITERAL),
        )
        for name in names
    )


def mapping_of(path, format_, *rules, **more):
    """A mapping with one source, `s`."""
    return Mapping((Source("s", str(path), format_, **more),), rules, "http://base/")
