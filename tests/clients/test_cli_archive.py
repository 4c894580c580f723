"""The archive from the command line: kept, asked, and rolled up into the broker again."""

from __future__ import annotations

import csv
import io
import json
import warnings

import pytest
from support.archives import broker_at
from support.following import journal, rows, update

from triplewire.clients.cli import REFUSED, USAGE, run

SOSA = "PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
PROV = "PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX time: <http://www.w3.org/2006/time#> "
SENSOR = "http://example.org/s"


@pytest.fixture(scope="module", autouse=True)
def session(tmp_path_factory):
    """The commands of this file share one Spark, unless there is one already."""
    from pyspark.sql import SparkSession

    from triplewire.clients.historic.spark_session import spark_session

    if SparkSession.getActiveSession() is not None:
        yield
        return
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("tables")),
        "spark.driver.memory": "1g",
    }
    made = spark_session("local[2]", "tests", settings)
    yield
    with warnings.catch_warnings():
        # py4j leaves the sockets of its connections to the collector.
        warnings.simplefilter("ignore", ResourceWarning)
        made.stop()


def history(*arguments):
    return run(["history", *map(str, arguments), "--master", "local[2]"])


def observe(broker, number, time, value):
    update(
        broker,
        SOSA
        + f"INSERT DATA {{ :o{number} a sosa:Observation ; sosa:madeBySensor :s ; sosa:observedProperty :heat ;"
        f' sosa:resultTime "{time}"^^xsd:dateTime ; sosa:hasSimpleResult {value} }}',
    )


def replaced(broker, value):
    update(
        broker,
        f"DELETE {{ :room :heat ?v }} INSERT {{ :room :heat {value} }} WHERE {{ OPTIONAL {{ :room :heat ?v }} }}",
    )


def measure(broker):
    for number, (minute, value) in enumerate([("00", 20.0), ("20", 22.0), ("59", 21.0)]):
        observe(broker, number, f"2020-05-04T10:{minute}:00Z", value)
    observe(broker, 3, "2020-05-04T11:30:00Z", 30.5)


@pytest.mark.timeout(400)
def test_an_archive_is_asked(tmp_path, capsys):
    """Observations as they were measured, and by the hour; and what replaced what."""
    data, archive = tmp_path / "data", tmp_path / "archive"
    with broker_at(data) as broker:
        measure(broker)
        replaced(broker, 1)
        replaced(broker, 2)
        assert history("archive", "--data", data, "--out", archive, "--once") == 0
        capsys.readouterr()

        asked = ["query", "--archive", archive, "--sensor", SENSOR, "--from", "2020-05-04T10:00:00Z"]
        assert history(*asked, "--to", "2020-05-04T11:00:00Z", "--format", "json") == 0
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [(row["time"], row["value"]) for row in found] == [
            ("2020-05-04T10:00:00Z", 20.0),
            ("2020-05-04T10:20:00Z", 22.0),
            ("2020-05-04T10:59:00Z", 21.0),
        ]
        assert history(*asked, "--every", "hour", "--format", "csv") == 0
        table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert [(row["min"], row["max"], row["mean"], row["count"], row["last"]) for row in table] == [
            ("20.0", "22.0", "21.0", "3", "21.0"),
            ("30.5", "30.5", "30.5", "1", "30.5"),
        ]
        place = ["--subject", "http://example.org/room", "--predicate", "http://example.org/heat"]
        assert history("query", "--archive", archive, *place, "--from", "2020-01-01", "--format", "csv") == 0
        assert [row["value"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == ["1", "2"]
        assert (
            history(
                "query",
                "--archive",
                archive,
                *place,
                "--from",
                "2020-01-01",
                "--as-of",
                "now",
                "--format",
                "table",
            )
            == 0
        )
        assert capsys.readouterr().out.splitlines()[1].split()[-2:] == ["2", "6"]


@pytest.mark.timeout(400)
def test_rollups_come_back(tmp_path):
    """As observations with their provenance; a second time changes nothing, but for an observation that came late."""
    data, archive = tmp_path / "data", tmp_path / "archive"
    with broker_at(data) as broker:
        measure(broker)
        assert history("archive", "--data", data, "--out", archive, "--once") == 0
        roll = ["rollup", "--archive", archive, "--url", broker.http, "--from", "2020-05-04", "--grace", "0s"]
        roll += ["--statistic", "mean", "--statistic", "count", "--base", "http://example.org/"]
        assert history(*roll) == 0
        wanted = (
            SOSA
            + PROV
            + (
                "SELECT ?begin ?how ?v { ?o sosa:madeBySensor :s ; sosa:observedProperty :heat ; sosa:hasSimpleResult ?v ;"
                " sosa:usedProcedure ?how ; sosa:phenomenonTime [ time:hasBeginning [ time:inXSDDateTimeStamp ?begin ] ] ;"
                " prov:wasDerivedFrom ?archive ; prov:wasGeneratedBy [ prov:used :s, ?archive ] }"
            )
        )
        mean, count = (
            "http://example.org/procedure/mean-of-hour",
            "http://example.org/procedure/count-of-hour",
        )
        there = rows(broker, wanted)
        assert there == sorted(
            [
                f"2020-05-04T10:00:00Z,{mean},21",
                f"2020-05-04T10:00:00Z,{count},3",
                f"2020-05-04T11:00:00Z,{mean},30.5",
                f"2020-05-04T11:00:00Z,{count},1",
            ]
        )
        before = journal(broker)["last_sequence"]
        assert history(*roll) == 0
        assert journal(broker)["last_sequence"] == before

        observe(broker, 4, "2020-05-04T10:30:00Z", 41.0)
        assert history("archive", "--url", broker.http, "--out", archive, "--once") == 0
        assert history(*roll) == 0
        assert rows(broker, wanted)[:2] == sorted(
            [f"2020-05-04T10:00:00Z,{mean},26", f"2020-05-04T10:00:00Z,{count},4"]
        )
        assert len(rows(broker, wanted)) == 4

        parts = tmp_path / "parts"
        assert history(*roll, "--out", parts) == 0
        assert json.loads((parts / "manifest.json").read_text())["parts"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--from", "2020-01-01"], "one of the two"),
        (["--sensor", "urn:s", "--subject", "urn:x", "--from", "2020-01-01"], "one of the two"),
        (["--subject", "urn:x", "--from", "2020-01-01"], "belong together"),
        (["--sensor", "urn:s", "--from", "2020-01-02", "--to", "2020-01-01"], "not before"),
        (["--sensor", "urn:s", "--from", "yesterday"], "no time"),
    ],
)
def test_questions_that_make_no_sense(tmp_path, capsys, arguments, wanted):
    """They are refused with the reason, before anything is read."""
    assert history("query", "--archive", tmp_path, *arguments) == USAGE
    assert wanted in capsys.readouterr().err


def test_what_is_not_there(tmp_path, capsys):
    """No archive, and no broker."""
    assert history("query", "--archive", tmp_path, "--sensor", "urn:s", "--from", "2020-01-01") == REFUSED
    assert "there is no archive" in capsys.readouterr().err
    out = tmp_path / "out"
    assert history("archive", "--url", "http://127.0.0.1:9", "--out", out, "--once") == REFUSED
    assert "127.0.0.1:9" in capsys.readouterr().err
    assert not list(out.glob("manifest/*"))
