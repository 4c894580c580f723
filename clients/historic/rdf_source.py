"""N-Triples and N-Quads as sources: RDF already, so no rule is asked; each line is read, judged and written anew.

A blank node becomes an IRI of its file's name and its label (RDF 1.1 Concepts 3.5), so that loading twice changes nothing; a
file in a directory below that of the source has the way to it in its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, parse, serialize
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .arrow import in_arrow
from .blank_nodes import genid
from .execution import rejected
from .files import base_of, below, files_at, paths_of, size_of
from .reasons import Reason
from .records import LINE, records_of
from .table import BLOCK, FAULT, FILE, PLACE, RAW, ROW, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from .plan import Source

RDF_FORMATS: Final = frozenset(("ntriples", "nquads"))


def rdf_table(spark: SparkSession, source: Source) -> Table:
    """The lines of all files.

    Raises:
        SourceError: there are none.
    """
    files = files_at(spark, source.path)
    frame = spark.read.text(paths_of(files)).select(
        F.col("_metadata.file_path").alias(FILE),
        F.col("_metadata.file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(PLACE),
        F.make_valid_utf8("value").alias(RAW),
        F.when(~F.is_valid_utf8("value"), Reason.BAD_ENCODING.value).alias(FAULT),
    )
    text = F.btrim(F.col(RAW))
    rows = frame.where((text != "") & ~text.startswith("#"))
    rows = rows.withColumn(ROW, F.struct(RAW))
    return Table(source, rows, frame.select(FILE, BLOCK, PLACE), bytes=size_of(spark, files))


def rdf_records(table: Table, base_iri: str) -> DataFrame:
    """Each line as a record: the quad in its canonical form, or a rejected row."""
    start = genid(base_iri)
    base = base_of(table.frame.sparkSession, table.source.path)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - on the executors

        for batch in batches:
            columns = (batch[name].to_pylist() for name in (FILE, RAW, FAULT))
            made = [
                None if fault else _read(text, f"{start}{quote(below(base, uri), safe='')}-")
                for uri, text, fault in zip(*columns, strict=True)
            ]
            yield batch.append_column("quad", pa.array(made, pa.string()))

    rows = table.frame.select(FILE, BLOCK, PLACE, RAW, FAULT)
    schema = f"{FILE} string, {BLOCK} bigint, {PLACE} bigint, {RAW} string, {FAULT} string, quad string"
    found = in_arrow(rows, read, schema)
    broken = rejected(table.source.name, F.array(F.coalesce(FAULT, F.lit(Reason.BAD_LINE.value))))
    return records_of(found.select(F.coalesce("quad", broken).alias(LINE)), rows=1)


def _read(text: str, start: str) -> str | None:
    """A line's quad as N-Quads; None where it is none."""
    try:
        quads = list(parse(text, RdfFormat.N_QUADS))
    except (SyntaxError, ValueError):
        return None
    if len(quads) != 1:
        return None
    quad = quads[0]
    terms = (quad.subject, quad.predicate, quad.object, quad.graph_name)
    if any(isinstance(term, BlankNode) for term in terms):
        named = [NamedNode(f"{start}{term.value}") if isinstance(term, BlankNode) else term for term in terms]
        quad = Quad(*named)
    written = serialize([quad], format=RdfFormat.N_QUADS)
    assert written is not None
    return written.decode().rstrip("\n")
