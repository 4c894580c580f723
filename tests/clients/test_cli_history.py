import csv

import pytest
from support.hand_made_parts import observations, write_parts

from triplewire.clients import cli
from triplewire.clients.historic.generator import rows

LINES = observations(50)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The user's state directory: never the real one."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


def history(*arguments):
    return cli.run(["history", *map(str, arguments)])


def test_generated_rows_are_the_generators(tmp_path, capsys):
    """Into a file or to standard output."""
    assert history("generate", "--rows", 30, "--seed", 7, "--broken", "10%", tmp_path / "a.csv") == 0
    assert (tmp_path / "a.csv").read_text() == "".join(rows(30, 7, 0.1))

    assert history("generate", "--rows", 3, "-") == 0
    assert len(list(csv.reader(capsys.readouterr().out.splitlines()))) == 4


@pytest.mark.parametrize("share", ["2", "-1%", "101%", "some", "nan"])
def test_a_share_is_within_0_and_1(tmp_path, capsys, share):
    """Else it is wrong usage."""
    assert history("generate", "--rows", 3, f"--broken={share}", tmp_path / "a.csv") == 2
    assert "1% and 0.01 are" in " ".join(capsys.readouterr().err.split())


def test_parts_go_into_a_running_broker(fake, tmp_path, capsys):
    """And letting others go first; the same again sends nothing."""
    write_parts(tmp_path / "parts", LINES)
    assert history("parts", tmp_path / "parts", "--url", fake.http) == 0
    assert len(fake.store) == len(LINES)
    assert fake.requests[-1]["headers"]["priority"] == "u=6"
    assert capsys.readouterr().err.startswith("150 quads loaded in ")

    assert history("parts", tmp_path / "parts", "--url", fake.http) == 0
    assert capsys.readouterr().err.endswith("; 150 were loaded before\n")

    assert history("parts", tmp_path / "parts", "--url", fake.http, "--anew") == 0
    assert capsys.readouterr().err.startswith("150 quads loaded in ")


def test_a_broker_that_had_lost_it_gets_everything_again(fake, tmp_path, capsys):
    """And so it is said."""
    write_parts(tmp_path / "parts", LINES)
    assert history("parts", tmp_path / "parts", "--url", fake.http) == 0
    fake.store.clear()
    assert history("parts", tmp_path / "parts", "--url", fake.http) == 0

    assert "everything was sent again" in capsys.readouterr().err
    assert len(fake.store) == len(LINES)


def test_parts_go_with_a_token_into_a_graph(fake, tmp_path, capsys):
    """The token is on every request, and in no output."""
    write_parts(tmp_path / "parts", LINES)
    assert (
        history("parts", tmp_path / "parts", "--url", fake.http, "--graph", "g:1", "--token", "s3cret") == 0
    )

    assert {quad.graph_name.value for quad in fake.store} == {"g:1"}
    assert {request["headers"]["authorization"] for request in fake.requests} == {"Bearer s3cret"}
    assert "s3cret" not in "".join(capsys.readouterr())


def test_parts_go_into_a_directory(tmp_path, capsys):
    """Of a broker that is not running."""
    write_parts(tmp_path / "parts", LINES)
    assert history("parts", tmp_path / "parts", "--data", tmp_path / "data") == 0

    assert "150 quads loaded into" in capsys.readouterr().err
    assert history("parts", tmp_path / "parts", "--data", tmp_path / "data") == 0  # nothing is new


def test_chunks_are_of_the_size_that_was_asked_for(fake, tmp_path):
    """Within the bounds."""
    write_parts(tmp_path / "parts", LINES, 1)
    bounds = ("--chunk-least", 10, "--chunk-most", 10, "--chunk-ms", 5)
    assert history("parts", tmp_path / "parts", "--url", fake.http, *bounds) == 0

    assert [request["body"].count(" .\n") for request in fake.requests] == [0, 0, 0, *[10] * 15]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--graph", "no iri"], 2, "no absolute IRI"),
        (["--chunk-least", 10, "--chunk-most", 5], 2, "--chunk-least is larger"),
        (["--spark-conf", "memory=4g"], 2, "spark.executor.memory"),
        (["--url", "http://127.0.0.1:9"], 3, "can't reach"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, capsys, arguments, code, words):
    """With the exit code of the other commands."""
    write_parts(tmp_path / "parts", LINES)
    assert history("parts", tmp_path / "parts", *arguments) == code
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_directory_without_parts_is_told(tmp_path, capsys):
    """With its name."""
    assert history("parts", tmp_path / "none") == 1
    assert "none: there is no manifest.json" in capsys.readouterr().err


def test_without_spark_it_says_how_to_get_it(capsys, monkeypatch):
    """Parts elsewhere are read by it."""
    import sys

    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "triplewire.clients.historic.spark_session", raising=False)
    assert history("parts", "hdfs://somewhere/parts") == 1
    assert "pip install 'triplewire[spark]'" in capsys.readouterr().err
