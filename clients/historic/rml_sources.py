"""Logical sources and tables as sources of rows (RML-IO; R2RML 5).

A plain text, `rml:path` with the mapping's directory for a root, and CSVW's `csvw:url` are files beside the mapping; the
root `rml:CurrentWorkingDirectory` is where the command was called.  A table of R2RML is the file `NAME.csv` beside the mapping.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import Literal

from .json_paths import json_path
from .mapping_problems import Problem, near
from .plan import Source
from .rml_vocabulary import word

if TYPE_CHECKING:
    from .rml_document import Node

_FORMULATIONS = {
    "CSV": "csv",
    "SQL2008Table": "csv",
    "JSONPath": "json",
    "JSONL": "jsonl",
    "Parquet": "parquet",
    "ORC": "orc",
}
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".orc": "orc"}
_COMPRESSIONS = {"none": "", "gzip": ".gz"}
_ROOTS = ("MappingDirectory", "CurrentWorkingDirectory")


class Sources:
    """The sources that a mapping names; logical sources that are the same are one, so that a file is read once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._found: dict[str, Source] = {}

    def all(self) -> tuple[Source, ...]:
        """In the order in which they were named."""
        return tuple(self._found.values())

    def of(self, triples_map: Node) -> Source:
        """Where the rows of a triples map come from.

        Raises:
            Problem: it has no source or two, or one that can't be read.
        """
        logical = triples_map.nodes("logicalSource", "logical source")
        tables = triples_map.nodes("logicalTable", "logical source")
        if len(logical) + len(tables) != 1:
            raise Problem(f"there must be one logicalSource, and there are {len(logical) + len(tables)}")
        source = self._table(tables[0]) if tables else self._source(logical[0])
        for known in self._found.values():
            if _rows(known) == _rows(source):
                return known
        if source.name in self._found:
            raise Problem(f"{source.name} is described in two ways: give one of them another path")
        self._found[source.name] = source
        return source

    def _table(self, node: Node) -> Source:
        name = node.text("tableName")
        if name is None:
            raise Problem("logical table: tableName is missing")
        name = unquoted(name)
        return Source(name, str(self._directory / f"{name}.csv"), "csv")

    def _source(self, node: Node) -> Source:
        written, path, access = self._place(node)
        dialect = access.node("csvw:dialect", "dialect") if access is not None else None
        if dialect is not None and dialect.text("csvw:header") in ("false", "0"):
            raise Problem("dialect: without a header no column has a name to refer to")
        format_ = _format(node, written)
        iterator = _iterator(node, format_)
        return Source(
            name=written if iterator in ("", "$") else f"{written} {iterator}",
            path=path,
            format=format_,
            iterator=iterator,
            delimiter=_character(dialect, "csvw:delimiter", ","),
            quote=_character(dialect, "csvw:quoteChar", '"'),
            encoding=_encoding(access, dialect),
            nulls=_nulls(access, format_),
        )

    def _place(self, node: Node) -> tuple[str, str, Node | None]:
        """What is written, the path that it means, and the description of the access where there is one."""
        if isinstance(node.term_of("source"), Literal):
            written, access = node.text("source") or "", None
            root = _ROOTS[0]
        else:
            access = node.node("source", "source")
            if access is None:
                raise Problem("logical source: source is missing")
            written = access.text("path") or access.text("csvw:url") or ""
            root = self._root(access)
            _check_compression(access, written)
        if not written:
            raise Problem("source: there must be a path (rml:path or csvw:url)")
        if "://" in written or root == _ROOTS[1]:
            return written, written, access
        return written, str(Path(root) / written if root not in _ROOTS else self._directory / written), access

    def _root(self, access: Node) -> str:
        found = access.term_of("root")
        if isinstance(found, Literal):
            return str(self._directory / found.value)
        root = word(found.value) if found is not None else _ROOTS[0]
        if root not in _ROOTS:
            raise Problem(f"source: root must be a directory's path, or rml:{' or rml:'.join(_ROOTS)}")
        return root


def unquoted(name: str) -> str:
    """An SQL identifier without its quotes: the columns and tables of R2RML."""
    is_quoted = len(name) > 1 and name[0] == name[-1] == '"'
    return name[1:-1].replace('""', '"') if is_quoted else name


def _rows(source: Source) -> tuple[object, ...]:
    return tuple(getattr(source, field) for field in Source.__slots__ if field != "name")


def _format(node: Node, path: str) -> str:
    found = node.term_of("referenceFormulation")
    if found is None:
        raise Problem("logical source: referenceFormulation is missing")
    formulation = word(found.value)
    format_ = _FORMULATIONS.get(formulation or "")
    if format_ is None:
        name = formulation or found.value
        raise Problem(
            f"logical source: {name} is not supported, only {', '.join(_FORMULATIONS)}{near(name, _FORMULATIONS)}"
        )
    stem = path.removesuffix(".gz")
    return next((other for ending, other in _ENDINGS.items() if stem.endswith(ending)), format_)


def _iterator(node: Node, format_: str) -> str:
    iterator = node.text("iterator") or ""
    if format_ == "json":
        json_path(iterator or "$")
        return iterator or "$"
    if iterator not in ("", "$"):
        raise Problem(f"logical source: an iterator means nothing for {format_}: each line or row is one")
    return ""


def _character(dialect: Node | None, name: str, default: str) -> str:
    found = dialect.text(name) if dialect is not None else None
    if found is not None and len(found) != 1:
        raise Problem(f"dialect: {name} must be one character, and is {found!r}")
    return found or default


def _encoding(access: Node | None, dialect: Node | None) -> str:
    if access is not None and (found := access.term_of("encoding")) is not None:
        return word(found.value) or found.value
    return (dialect.text("csvw:encoding") if dialect is not None else None) or "UTF-8"


def _nulls(access: Node | None, format_: str) -> tuple[str, ...]:
    """RML-IO has none but those that are named; CSVW's are "" by default, and so are those of what says nothing."""
    found = access.terms("null", "csvw:null") if access is not None else []
    if found and format_ in ("json", "jsonl"):
        raise Problem("source: null is for cells of tables: JSON has its own")
    is_rml = access is not None and bool(access.terms("path"))
    return tuple(term.value for term in found) or (() if is_rml or format_ != "csv" else ("",))


def _check_compression(access: Node, path: str) -> None:
    found = access.term_of("compression")
    if found is None:
        return
    ending = _COMPRESSIONS.get(word(found.value) or "")
    if ending is None:
        raise Problem(f"source: compression must be rml:none or rml:gzip, not {found.value}")
    if not path.endswith(ending):
        raise Problem(f"source: compression is told by the path's ending, and {path} must end in {ending}")
