from __future__ import annotations

import pytest
from support.mapping_files import rml

from triplewire.clients.historic.mapping_problems import MappingError


def source(directory, text: str):
    (found,) = rml(directory, f"<#A> {text} ; rml:subject ex:s .").sources
    return found


def logical(text: str) -> str:
    return f"rml:logicalSource [ rml:source [ {text} ] ; rml:referenceFormulation rml:CSV ]"


def test_a_path_is_beside_the_mapping(tmp_path):
    """Its name is what is written, so that a command can replace it."""
    found = source(tmp_path, 'rml:logicalSource [ rml:source "d/a.csv" ; rml:referenceFormulation ql:CSV ]')
    assert (found.name, found.path, found.format) == ("d/a.csv", str(tmp_path / "d/a.csv"), "csv")
    assert found.nulls == ("",)


def test_the_roots_of_rml_io(tmp_path):
    """The mapping's directory, the command's, or a directory by its path."""
    assert source(tmp_path, logical("rml:root rml:MappingDirectory ; rml:path 'a.csv'")).path == str(
        tmp_path / "a.csv"
    )
    assert (
        source(tmp_path, logical("rml:root rml:CurrentWorkingDirectory ; rml:path 'a.csv'")).path == "a.csv"
    )
    assert source(tmp_path, logical("rml:root '/data' ; rml:path 'a.csv'")).path == "/data/a.csv"
    assert source(tmp_path, logical("rml:path 's3a://bucket/a.csv'")).path == "s3a://bucket/a.csv"


def test_nulls_are_those_that_are_named(tmp_path):
    """RML-IO has none of its own, CSVW's is the empty text."""
    assert source(tmp_path, logical("rml:path 'a.csv'")).nulls == ()
    assert source(tmp_path, logical("rml:path 'a.csv' ; rml:null '' , '-999'")).nulls == ("", "-999")
    assert source(tmp_path, logical("csvw:url 'a.csv'")).nulls == ("",)
    assert source(tmp_path, logical("csvw:url 'a.csv' ; csvw:null 'NA'")).nulls == ("NA",)


def test_a_dialect_of_csvw(tmp_path):
    """Delimiter, quotes and encoding."""
    dialect = "csvw:dialect [ csvw:delimiter ';' ; csvw:quoteChar '|' ; csvw:encoding 'ISO-8859-1' ]"
    found = source(tmp_path, logical(f"csvw:url 'a.csv' ; {dialect}"))
    assert (found.delimiter, found.quote, found.encoding) == (";", "|", "ISO-8859-1")


@pytest.mark.parametrize(
    ("path", "formulation", "expected"),
    [
        ("a.json", "rml:JSONPath", "json"),
        ("a.jsonl", "rml:JSONPath", "jsonl"),
        ("a.ndjson.gz", "ql:JSONPath", "jsonl"),
        ("a.parquet", "ql:CSV", "parquet"),
        ("a", "ql:ORC", "orc"),
    ],
)
def test_formats_by_formulation_and_ending(tmp_path, path, formulation, expected):
    """A document of JSON and lines of it are told by the path."""
    found = source(
        tmp_path, f'rml:logicalSource [ rml:source "{path}" ; rml:referenceFormulation {formulation} ]'
    )
    assert found.format == expected
    assert found.iterator == ("$" if expected == "json" else "")


def test_sources_that_are_the_same_are_one(tmp_path):
    """So that a file is read once; another iterator is another source."""
    text = '<#%s> rml:logicalSource [ rml:source "a.json" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "%s" ] ; rml:subject ex:s .'
    mapping = rml(tmp_path, text % ("A", "$.a[*]") + text % ("B", "$.b[*]") + text % ("C", "$.a[*]"))
    assert [found.name for found in mapping.sources] == ["a.json $.a[*]", "a.json $.b[*]"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "rml:logicalSource [ rml:source 'a.xml' ; rml:referenceFormulation rml:XPath ]",
            "XPath is not supported",
        ),
        ("rml:logicalSource [ rml:source 'a.csv' ]", "referenceFormulation is missing"),
        ("rml:logicalSource [ rml:referenceFormulation rml:CSV ]", "source is missing"),
        ("rml:logicalSource [ rml:source 'a.csv' ; rml:referenceFormulation rml:CVS ]", "did you mean CSV"),
        ("rr:logicalTable [ rr:sqlQuery 'SELECT 1' ]", "queries of databases can't be asked"),
        ("rr:logicalTable []", "tableName is missing"),
        (
            "rml:logicalSource [ rml:source [ rml:path 'a.json' ; rml:null '' ] ; rml:referenceFormulation rml:JSONPath ]",
            "null is for cells of tables",
        ),
        (logical("rml:root rml:Elsewhere ; rml:path 'a'"), "root must be"),
        (logical("rml:root rml:MappingDirectory"), "there must be a path"),
        (logical("rml:path 'a.csv.zip' ; rml:compression rml:zip"), "compression must be"),
        (logical("rml:path 'a.csv' ; rml:compression rml:gzip"), "must end in .gz"),
        (logical("csvw:url 'a.csv' ; csvw:dialect [ csvw:delimiter '||' ]"), "must be one character"),
        (logical("csvw:url 'a.csv' ; csvw:dialect [ csvw:header false ]"), "no column has a name"),
        (
            "rml:logicalSource [ rml:source 'a.csv' ; rml:referenceFormulation rml:CSV ; rml:iterator '$.a' ]",
            "an iterator means nothing for csv",
        ),
        (
            "rml:logicalSource [ rml:source 'a.json' ; rml:referenceFormulation rml:JSONPath ; rml:iterator '$..a' ]",
            "no JSONPath",
        ),
    ],
)
def test_what_is_wrong_with_a_source_is_said(tmp_path, text, problem):
    """What and where, before a file is opened."""
    with pytest.raises(MappingError, match=problem):
        source(tmp_path, text)


def test_one_path_has_one_description(tmp_path):
    """Two that differ would be two files of one name."""
    with pytest.raises(MappingError, match=r"a\.csv is described in two ways"):
        rml(
            tmp_path,
            "<#A> "
            + logical("rml:path 'a.csv'")
            + " ; rml:subject ex:s . "
            + "<#B> "
            + logical("rml:path 'a.csv' ; rml:null 'x'")
            + " ; rml:subject ex:s .",
        )
