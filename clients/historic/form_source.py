"""The source of a form for observations: a path, and what the file is like."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .json_paths import json_path
from .plan import Source

if TYPE_CHECKING:
    from pathlib import Path

    from .form_table import Table

FORMATS = ("csv", "json", "jsonl", "parquet", "orc", "items", "journal")
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".orc": "orc",
}


def read_source(table: Table, directory: Path) -> Source:
    """What `[source]` says; a path without a scheme is below the form's directory."""
    written = table.text("path")
    if not written:
        table.problem("path", "is missing")
    stem = written.removesuffix(".gz")
    guessed = next((format_ for ending, format_ in _ENDINGS.items() if stem.endswith(ending)), "")
    if not guessed and "format" not in table and written:
        table.problem("format", f"must be given, as {written} does not tell it: {', '.join(FORMATS)}")
    format_ = table.choice("format", FORMATS, guessed or "csv")
    header = table.flag("header", default=True)
    columns = table.texts("columns")
    if not header and not columns:
        table.problem("columns", "must be given where there is no header")
    if header and columns:
        table.problem("columns", "stand in the header: set header = false where there is none")
    if "nulls" in table and format_ in ("json", "jsonl"):
        table.problem("nulls", "are for cells of tables: JSON has its own")
    iterator = table.text("iterator", "$" if format_ == "json" else "")
    table.read("iterator", partial(json_path, iterator or "$"), None)
    source = Source(
        name=written,
        path=written if "://" in written else str(directory / written),
        format=format_,
        iterator=iterator,
        delimiter=_character(table, "delimiter", "\t" if stem.endswith(".tsv") else ","),
        quote=_character(table, "quote", '"') if table.text("quote", '"') else "",  # "" is no quoting at all
        encoding=table.text("encoding", "UTF-8"),
        header=header,
        multiline=table.flag("multiline", default=False),
        nulls=table.texts("nulls", ("",) if format_ == "csv" else ()),
        columns=columns,
    )
    table.end()
    return source


def _character(table: Table, name: str, default: str) -> str:
    found = table.text(name, default)
    if len(found) != 1:
        table.problem(name, f"must be one character, and is {found!r}")
        return default
    return found
