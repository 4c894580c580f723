"""Parts: sorted from one to the next, each line once, and a manifest that is written last."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from triplewire.clients.historic import shares
from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.line_parts import write_parts
from triplewire.clients.historic.part_files import PartFiles
from triplewire.clients.historic.parts import (
    Manifest,
    Part,
    PartSettings,
    mapping_hash,
    number_of,
    write_records,
)
from triplewire.clients.historic.quality import summary
from triplewire.clients.historic.records import records_of
from triplewire.clients.historic.shares import Sample
from triplewire.clients.historic.subjects import REJECTED, TOLD

LINES = [
    f'<http://e/{number:03}> <urn:p> "{text}" .'
    for number in range(100)
    for text in ("a", "\u00e4", "\U0001f600")
]
BROKEN = ['{"raw":"x"}', '{"raw":"y"}']


def frame_of(spark, lines):
    return spark.createDataFrame([(line,) for line in lines], "line string").repartition(3)


def shuffled(lines):
    return random.Random(7).sample(lines, len(lines))


def read(out):
    """The lines of each part, as a load reads them."""
    with PartFiles(str(out)) as files:
        found = []
        for part in files.parts:
            with files.open(part) as lines:
                found.append(lines.read().decode().splitlines())
            assert len(found[-1]) == part.lines
            assert sum(len(line.encode()) + 1 for line in found[-1]) == part.size
        return found


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_sorted_globally_each_line_once(spark, tmp_path, compression, monkeypatch):
    """In the order of their bytes, all lines of a subject in one part, and rejected rows beside them."""
    monkeypatch.setattr(shares, "_SMALL", 1)
    frame = records_of(frame_of(spark, shuffled(LINES + LINES[:50] + BROKEN)), rows=1)
    settings = PartSettings(compression, part_bytes=2000)
    written = write_records(frame, str(tmp_path), settings, Sample(frame, 1.0))
    told = summary(spark, written)
    assert len(told.parts) > 3
    found = []
    for part in told.parts:
        data = (tmp_path / part.name).read_bytes()
        lines = (gzip.decompress(data) if compression == "gzip" else data).decode().splitlines()
        assert (part.lines, part.bytes) == (len(lines), sum(len(line.encode()) + 1 for line in lines))
        assert not {line.split()[0] for line in found} & {line.split()[0] for line in lines}
        found += lines
    assert found == sorted(LINES, key=str.encode)
    assert (told.rows, told.duplicates) == (350, 50)
    assert [row.value for row in spark.read.text(written.of(REJECTED)).collect()] == BROKEN
    assert not written.has(TOLD)
    assert not (tmp_path / "manifest.json").exists()


def test_the_manifest_names_them_in_order(spark, tmp_path):
    """With what they were made by and of; the reader of parts takes it."""
    manifest = write_parts(frame_of(spark, LINES), str(tmp_path / "out"), mapping="m", sources=("a", "b"))
    document = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert document == json.loads(manifest.document())
    assert (document["mapping"], document["sources"], document["version"]) == ("m", ["a", "b"], 1)
    assert read(tmp_path / "out") == [sorted(LINES, key=str.encode)]
    assert manifest.lines == len(LINES)


def test_a_run_that_was_cut_off_leaves_nothing_that_can_be_loaded(spark, tmp_path):
    """What it has written is in nobody's way: the next run has files of its own."""
    write_records(records_of(frame_of(spark, LINES[:9])), str(tmp_path), PartSettings(), None)
    with pytest.raises(HistoryError, match="never finished"):
        PartFiles(str(tmp_path))
    write_parts(frame_of(spark, LINES[9:12]), str(tmp_path))
    assert read(tmp_path) == [sorted(LINES[9:12], key=str.encode)]


def test_parts_that_are_there_are_not_overwritten_unasked(spark, tmp_path):
    """Asked for, the manifest goes first, so that half of the new is never taken for the old."""
    write_parts(frame_of(spark, LINES[:3]), str(tmp_path))
    with pytest.raises(HistoryError, match="has parts already"):
        write_parts(frame_of(spark, LINES[3:5]), str(tmp_path))
    assert read(tmp_path) == [sorted(LINES[:3], key=str.encode)]
    broken = frame_of(spark, LINES).selectExpr("raise_error('no') AS line")
    with pytest.raises(Exception, match="no"):
        write_parts(broken, str(tmp_path), PartSettings(overwrite=True))
    assert not (tmp_path / "manifest.json").exists()
    write_parts(frame_of(spark, LINES[3:5]), str(tmp_path), PartSettings(overwrite=True))
    assert read(tmp_path) == [sorted(LINES[3:5], key=str.encode)]


def test_no_quads_are_no_parts(spark, tmp_path):
    """The manifest says so."""
    assert write_parts(frame_of(spark, LINES).where("false"), str(tmp_path)).parts == ()
    assert read(tmp_path) == []


def test_a_part_has_a_number():
    """In Spark's names and paths."""
    assert number_of("part-00012-3f-7.c000.txt.gz") == 12
    assert number_of("file:/part-1-x/kind=told/part-00003-3f-7.c000.txt") == 3
    with pytest.raises(ValueError, match="_SUCCESS is no part"):
        number_of("_SUCCESS")


def test_settings_of_others_are_as_they_were(spark, tmp_path):
    """Those that one query needs are not left behind."""
    key = "spark.sql.maxConcurrentOutputFileWriters"
    before = spark.conf.get(key)
    write_parts(frame_of(spark, LINES[:3]), str(tmp_path))
    assert spark.conf.get(key) == before


def test_a_compression_that_is_none():
    """The message says which are."""
    with pytest.raises(HistoryError, match="'lzma' is none of gzip, none"):
        PartSettings("lzma")


def test_a_manifest_adds_up():
    """And tells its mapping from others."""
    assert Manifest((Part("a", 2, 20), Part("b", 3, 30))).lines == 5
    assert mapping_hash(Part("a", 2, 20)) == mapping_hash(Part("a", 2, 20)) != mapping_hash(Part("a", 2, 21))
