"""A whole run: sources to parts, a quarantine and a report; with one in a hundred rows broken, in 12 ways."""

from __future__ import annotations

import gzip
import json

import pytest
from pyoxigraph import RdfFormat, parse

from triplewire.clients.historic.errors import HistoryError, SourceError, TooManyRejected
from triplewire.clients.historic.limits import Limit
from triplewire.clients.historic.mapping_run import RunSettings, run
from triplewire.clients.historic.plan import (
    Constant,
    Lookup,
    Mapping,
    Moment,
    Number,
    Reference,
    Rule,
    Source,
    Template,
    TermMap,
    TermType,
)

SOSA = "http://www.w3.org/ns/sosa/"
XSD = "http://www.w3.org/2001/XMLSchema#"
HEADER = "sensor,property,value,link,language,time"
# Each is a line, and why it makes nothing.
BROKEN = (
    ("s1,temperature,n/a,http://e/x,en,2020-01-01T00:00:00Z", "bad number"),
    ("s1,temperature,1.2.3,http://e/x,en,2020-01-01T00:00:00Z", "bad number"),
    ("s1,temperature,1,http://e/x,en,2020-02-30T00:00:00Z", "impossible time"),
    ("s1,temperature,1,http://e/x,en,2020-03-29T02:30:00", "impossible time"),
    ("s1,temperature,1,http://e/x,en,yesterday", "impossible time"),
    (",temperature,1,http://e/x,en,2020-01-01T00:00:00Z", "missing value"),
    ("s1,temperature,1,http://e/<x>,en,2020-01-01T00:00:00Z", "bad IRI"),
    ("s1,temperature,1,http://e/x,not a tag,2020-01-01T00:00:00Z", "bad language tag"),
    ("s1,smell,1,http://e/x,en,2020-01-01T00:00:00Z", "unknown name"),
    ("s1,temperature,1,http://e/x,en,2020-01-01T00:00:00Z,more", "too many columns"),
    ("s1,temperature,1", "too few columns"),
    ('s1,"temperature,1,http://e/x,en,2020-01-01T00:00:00Z', "bad line"),
)


def iri(text):
    return TermMap(Constant(text), TermType.IRI)


def mapping(path, **source):
    time = Moment(zone="Europe/Berlin")
    subject = TermMap(
        Template(("http://e/", Reference("sensor"), "/", Reference("time", reading=time))), TermType.IRI
    )
    names = Lookup(Reference("property"), (("temperature", "http://e/temperature"),))
    value = TermMap(Reference("value"), TermType.LITERAL, f"{XSD}decimal", reading=Number())
    note = TermMap(Reference("property"), TermType.LITERAL, language=Reference("language"))
    sensor = TermMap(Template(("http://e/sensor/", Reference("sensor"))), TermType.IRI)
    told = (
        (iri(f"{SOSA}madeBySensor"), sensor, True),
        (iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), iri(f"{SOSA}Observation"), False),
        (iri(f"{SOSA}hasSimpleResult"), value, False),
        (iri(f"{SOSA}observedProperty"), TermMap(names, TermType.IRI), False),
        (iri(f"{SOSA}resultTime"), TermMap(Reference("time"), TermType.LITERAL, reading=time), False),
        (iri("http://e/link"), TermMap(Reference("link"), TermType.IRI), False),
        (iri("http://e/note"), note, False),
    )
    rules = tuple(Rule("s", subject, predicate, found, required=needed) for predicate, found, needed in told)
    return Mapping((Source("s", str(path), "csv", **source),), rules, "http://e/")


def good(number):
    return f"s{number % 3},temperature,{number},http://e/x,en,2020-01-{number // 24 % 28 + 1:02}T{number % 24:02}:00:00Z"


def lines_of(out):
    """The lines of all parts, in the manifest's order."""
    manifest = json.loads((out / "manifest.json").read_text())
    found = []
    for part in manifest["parts"]:
        read = gzip.decompress((out / part["name"]).read_bytes()).decode().splitlines()
        assert len(read) == part["lines"]
        assert sum(len(line.encode()) + 1 for line in read) == part["bytes"]
        found += read
    return found


def quarantined(out):
    rows = [
        json.loads(line)
        for file in (out / "quarantine").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    return [(row["file"].rpartition("/")[2], row["line"], row["reasons"], row["raw"]) for row in rows]


@pytest.fixture(scope="module")
def ran(spark, tmp_path_factory):
    """1,200 rows in two files that are cut into many splits; one in a hundred is broken."""
    folder = tmp_path_factory.mktemp("run")
    broken = {}
    for file, start in (("a.csv", 0), ("b.csv", 600)):
        lines = [HEADER]
        for number in range(start, start + 600):
            if number % 100 == 50:
                line, reason = BROKEN[number // 100]
                lines.append(line)
                broken[file, len(lines)] = (reason, line)
            if number % 100 == 70 and number // 100 < 6:
                line, reason = BROKEN[number // 100 + 6]
                lines.append(line)
                broken[file, len(lines)] = (reason, line)
            lines.append(good(number))
            if number == 300:
                lines.append("")
        (folder / "in").mkdir(exist_ok=True)
        (folder / "in" / file).write_text("\n".join(lines) + "\n")
    size = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(size)
    spark.conf.set(size, "5000")
    try:
        report = run(spark, mapping(folder / "in"), {}, str(folder / "out"))
    finally:
        spark.conf.set(size, before)
    return folder / "out", report, broken


def test_each_broken_row_is_in_the_quarantine_with_its_line_and_reason(ran):
    """Files are split in the middle, and lines are those of the file."""
    out, _, broken = ran
    found = {(file, line): (reasons, raw) for file, line, reasons, raw in quarantined(out)}
    assert found == {place: ([reason], raw) for place, (reason, raw) in broken.items()}
    assert {reason for reason, _ in broken.values()} >= {reason for _, reason in BROKEN[:6]}


def test_nothing_of_a_broken_row_is_in_the_parts_and_all_of_the_others(ran):
    """Each good row is an observation with its own time; all lines are N-Quads."""
    out, report, _ = ran
    lines = lines_of(out)
    assert lines == sorted(set(lines), key=str.encode)
    assert len(list(parse("\n".join(lines), RdfFormat.N_QUADS))) == len(lines) == report.quads
    times = {line for line in lines if f"<{SOSA}resultTime>" in line}
    assert len(times) == report.observations == len({(good(n)[:2], good(n)[-20:]) for n in range(1200)})


def test_the_report_counts(ran):
    """Rows in, rejected by reason, duplicates, sensors and times."""
    _, report, broken = ran
    assert report.rows == 1200 + len(broken)
    assert report.rejected == len(broken)
    counts = {}
    for reason, _ in broken.values():
        counts[reason] = counts.get(reason, 0) + 1
    assert report.reasons == counts
    assert report.duplicates > 0
    assert [one.sensor for one in report.sensors] == [f"http://e/sensor/s{n}" for n in range(3)]
    assert sum(one.observations for one in report.sensors) == report.observations
    assert (report.first, report.last) == ("2020-01-01T00:00:00Z", "2020-01-28T23:00:00Z")
    assert f"{report.rows:,}" in report.text()
    assert json.loads(report.json())["rejected"] == len(broken)


def test_over_the_limit_nothing_can_be_loaded(spark, tmp_path):
    """There is a quarantine, and no manifest; what another run left half is gone."""
    (tmp_path / "x.csv").write_text("\n".join([HEADER, good(1), BROKEN[0][0], BROKEN[1][0]]))
    left = tmp_path / "out" / "records-of-a-run-that-was-cut-off"
    left.mkdir(parents=True)
    settings = RunSettings(max_rejected=Limit(count=1))
    with pytest.raises(TooManyRejected, match="2 of 3 rows") as told:
        run(spark, mapping(tmp_path / "x.csv"), {}, str(tmp_path / "out"), settings)
    assert told.value.report.reasons == {"bad number": 2}
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert not left.exists()
    assert [line for _, line, _, _ in quarantined(tmp_path / "out")] == [3, 4]


def test_parts_are_not_overwritten_unasked(spark, tmp_path):
    """They may be what somebody is loading."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("{}")
    (tmp_path / "x.csv").write_text(f"{HEADER}\n{good(1)}\n")
    with pytest.raises(HistoryError, match="has parts already"):
        run(spark, mapping(tmp_path / "x.csv"), {}, str(tmp_path / "out"))


def test_what_is_not_there_is_said(spark, tmp_path):
    """A path without files, a column that no file has, a source of another name."""
    with pytest.raises(SourceError, match="nothing to read"):
        run(spark, mapping(tmp_path / "none.csv"), {}, str(tmp_path / "out"))
    (tmp_path / "x.csv").write_text("sensor,property\n1,2\n")
    with pytest.raises(SourceError, match="no column 'time'"):
        run(spark, mapping(tmp_path / "x.csv"), {}, str(tmp_path / "out"))
    with pytest.raises(SourceError, match="no source 'y'"):
        run(spark, mapping(tmp_path / "x.csv"), {"y": "z"}, str(tmp_path / "out"))
