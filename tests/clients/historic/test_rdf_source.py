"""N-Triples and N-Quads: each line is a quad in its canonical form, or broken."""

from __future__ import annotations

import gzip
import json

import pytest
from support.record_lines import lines_in

from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.lines import numbered
from triplewire.clients.historic.mapping_run import run
from triplewire.clients.historic.plan import Mapping, Source
from triplewire.clients.historic.rdf_source import rdf_records, rdf_table

LINES = (
    "# a comment",
    "<http://e/s> <http://e/p> <http://e/o> .",
    "",
    '<http://e/s>\t<http://e/p>   "caf\\u00E9"^^<http://www.w3.org/2001/XMLSchema#string>.# behind it',
    "<http://e/s> <http://e/p> .",
    '_:b <http://e/p> "x"@EN <http://e/g> .',
    "<http://e/s> <http://e/p> _:b _:c .",
    "  <http://e/s> <not absolute> 1 .",
    "<http://e/s> <http://e/p> 1 . <http://e/s> <http://e/p> 2 .",
    "@prefix e: <http://e/> .",
)
GENID = "<http://base/.well-known/genid/a%20b.nq-"


def test_lines_are_read_judged_and_written_anew(spark, tmp_path):
    """Comments and empty lines are no rows; blank nodes are named by their file and label."""
    (tmp_path / "a b.nq").write_text("\n".join(LINES))
    table = rdf_table(spark, Source("s", str(tmp_path), "nquads"))
    made = rdf_records(table, "http://base/")
    found = lines_in(made)
    quads = [line for line in found if line.startswith("<")]
    assert quads == [
        "<http://e/s> <http://e/p> <http://e/o> .",
        '<http://e/s> <http://e/p> "caf\u00e9" .',
        f'{GENID}b> <http://e/p> "x"@en <http://e/g> .',
        f"<http://e/s> <http://e/p> {GENID}b> {GENID}c> .",
    ]
    assert sum(row.rows for row in made.collect()) == 8
    broken = [json.loads(line) for line in found if not line.startswith("<")]
    assert {row["raw"]: row["reasons"] for row in broken} == {
        LINES[number]: ["bad line"] for number in (4, 7, 8, 9)
    }
    lines = numbered(table.frame, table).select("line", "raw").collect()
    assert {row.line: row.raw for row in lines} == {
        number: line for number, line in enumerate(LINES, 1) if line and not line.startswith("#")
    }


def test_files_of_one_name_in_two_directories(spark, tmp_path):
    """Their blank nodes are others; where a file is alone is not in its name."""
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "x.nt").write_text("_:n <http://e/p> 1 .\n".replace(" 1 ", " <http://e/o> "))
    names = {}
    for path in (str(tmp_path), f"{tmp_path}/*/x.nt", f"{tmp_path}/a", f"{tmp_path}/a/x.nt"):
        lines = lines_in(rdf_records(rdf_table(spark, Source("s", path, "ntriples")), "http://base/"))
        names[path.removeprefix(str(tmp_path))] = [line.split("genid/")[1].split(">")[0] for line in lines]
    assert {path: sorted(found) for path, found in names.items()} == {
        "": ["a%2Fx.nt-n", "b%2Fx.nt-n"],
        "/*/x.nt": ["a%2Fx.nt-n", "b%2Fx.nt-n"],
        "/a": ["x.nt-n"],
        "/a/x.nt": ["x.nt-n"],
    }


def test_a_run_of_rdf_alone(spark, tmp_path):
    """No rule is needed; a file compressed is read, too, and the same quad in both stands once."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.nt").write_text(f"{LINES[1]}\n{LINES[4]}\n")
    (tmp_path / "in" / "b.nt.gz").write_bytes(
        gzip.compress(f"{LINES[1]}\n".encode() + b'<a:a> <a:b> "\xff" .\n')
    )
    mapping = Mapping((Source("s", str(tmp_path / "in"), "ntriples"),), ())
    report = run(spark, mapping, {}, str(tmp_path / "out"))
    assert (report.rows, report.quads, report.duplicates) == (4, 1, 1)
    assert report.reasons == {"bad line": 1, "bad encoding": 1}


def test_nothing_there_is_said(spark, tmp_path):
    """With the path."""
    with pytest.raises(SourceError, match="none"):
        rdf_table(spark, Source("s", str(tmp_path / "none.nt"), "ntriples"))
