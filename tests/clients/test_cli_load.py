import gzip
from contextlib import contextmanager

import pytest

from triplewire.broker.config import JournalConfig, StoreConfig
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.journal.inspection import dump
from triplewire.clients import cli

FILES = {
    "a.nt": b'<a:s> <a:p> "x" .\n',
    "a.ttl": b"@prefix a: <a:> . a:s a:p 'x' .\n",
    "a.rdf": b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r:Description r:about="a:s">'
    b'<p xmlns="a:">x</p></r:Description></r:RDF>',
    "a.jsonld": b'{"@id": "a:s", "a:p": "x"}',
    "a.nq": b'<a:s> <a:p> "x" .\n',
    "a.trig": b"<a:s> <a:p> 'x' .\n",
}
TRIG = b"<a:s> <a:p> _:b . <g:1> { _:b <a:p> 'one' } <g:2> { _:b <a:p> 'two' }"
JOINED = "ASK { <a:s> <a:p> ?b GRAPH <g:1> { ?b <a:p> 'one' } GRAPH <g:2> { ?b <a:p> 'two' } }"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return write


@contextmanager
def opened(data, engine="memory"):
    """What a broker finds in the directory."""
    dataset = open_dataset(StoreConfig(data=str(data), engine=engine), JournalConfig())
    try:
        yield dataset.store
    finally:
        dataset.close()


def load(fake, *arguments):
    return cli.run(["load", "--url", fake.http, *arguments])


@pytest.mark.parametrize("name", FILES)
def test_the_extension_tells_the_format(fake, write, capsys, name):
    """The data is the same."""
    assert load(fake, write(name, FILES[name])) == 0

    assert fake.store.query("ASK { <a:s> <a:p> 'x' }")
    assert capsys.readouterr().err == "1 triples loaded\n"


def test_a_file_may_be_gzipped(fake, write):
    """By its name."""
    assert load(fake, write("a.ttl.gz", gzip.compress(FILES["a.ttl"]))) == 0

    assert fake.store.query("ASK { <a:s> <a:p> 'x' }")


def test_triples_go_into_a_graph(fake, write):
    """All files' into the same."""
    assert (
        load(fake, "--graph", "g:1", write("a.nt", FILES["a.nt"]), write("b.nt", b'<a:s> <a:p> "y" .')) == 0
    )

    assert fake.store.query("ASK { GRAPH <g:1> { <a:s> <a:p> 'x', 'y' } }")
    assert [request["path"] for request in fake.requests] == ["/rdf-graph-store"] * 2


def test_a_blank_node_in_several_graphs_stays_one_node(fake, write):
    """They go in one request."""
    assert load(fake, "--batch-bytes", "1", write("a.trig", TRIG)) == 0

    assert fake.store.query(JOINED)


def test_a_large_file_goes_in_batches(fake, write):
    """Each an update of its own."""
    lines = b"".join(b"<a:s> <a:p> %d .\n" % n for n in range(1000))
    assert load(fake, "--batch-bytes", "10000", write("a.ttl", lines)) == 0

    assert len(fake.store) == 1000
    assert 5 < len(fake.requests) < 20


def test_relative_iris_are_below_the_file(fake, write, tmp_path):
    """As in a browser."""
    assert load(fake, write("a.ttl", b"<> <a:p> <b.ttl> .")) == 0

    assert fake.store.query(
        f"ASK {{ <{(tmp_path / 'a.ttl').as_uri()}> <a:p> <{(tmp_path / 'b.ttl').as_uri()}> }}"
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.nt", b'<a:s> <a:p> "x" .\nnonsense\n'),
        ("a.nt.gz", b"not gzip"),
        ("a.nt.gz", gzip.compress(b"x" * 99)[:-9]),
    ],
    ids=["nonsense", "not gzip", "torn gzip"],
)
def test_a_file_that_can_not_be_read_ends_with_1(fake, write, capsys, name, content):
    """And is named, with what went before it."""
    assert load(fake, write(name, content)) == 1

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("triplewire: ")
    assert name in line
    assert "0 triples were loaded before" in line


def test_an_unknown_extension_is_wrong_usage(fake, write, capsys):
    """Before anything is sent."""
    assert load(fake, write("a.nt", FILES["a.nt"]), write("a.doc", b"")) == 2

    assert ".ttl" in capsys.readouterr().err
    assert fake.requests == []


def test_a_refusal_ends_with_1(fake, write, capsys):
    """With the broker's words."""
    fake.replies.append((413, {}, b"too much"))

    assert load(fake, write("a.nt", FILES["a.nt"])) == 1
    assert "too much" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_directory_is_loaded_without_a_broker(write, tmp_path, engine):
    """All formats, graphs and blank nodes; into a new directory, and into one with a dataset."""
    data = tmp_path / "data"
    arguments = ["load", "--data", str(data), "--engine", engine]

    assert cli.run([*arguments, write("a.trig", TRIG), write("a.nt.gz", gzip.compress(FILES["a.nt"]))]) == 0
    with opened(data, engine) as store:
        assert store.query(JOINED)
        assert store.query("ASK { <a:s> <a:p> 'x' }")
    del store  # RocksDB's files are let go of with the last reference

    assert cli.run([*arguments, write("b.trig", TRIG.replace(b"a:s", b"b:s"))]) == 0
    with opened(data, engine) as store:
        assert store.query(JOINED)
        assert store.query(JOINED.replace("a:s", "b:s"))


def test_what_is_loaded_later_is_in_the_journal(write, tmp_path):
    """The first load is a snapshot; what is there already is no change."""
    data = tmp_path / "data"
    both = b'<a:s> <a:p> "x" .\n<a:s> <a:p> "y" .\n'

    assert cli.run(["load", "--data", str(data), write("a.nt", FILES["a.nt"])]) == 0
    assert cli.run(["load", "--data", str(data), write("a.nt", both)]) == 0

    records = list(dump(data))
    assert [(record.client, record.inserted) for record in records] == [("load", b'<a:s> <a:p> "y" .\n')]


def test_a_directory_takes_triples_into_a_graph(write, tmp_path):
    """As a broker does; what has a graph stays in it."""
    data = tmp_path / "data"
    files = [write("a.nt", FILES["a.nt"]), write("a.trig", TRIG)]

    assert cli.run(["load", "--data", str(data), "--graph", "g:3", *files]) == 0

    with opened(data) as store:
        assert store.query("ASK { GRAPH <g:3> { <a:s> <a:p> 'x' } GRAPH <g:1> { ?b <a:p> 'one' } }")
        assert not store.query("ASK { ?s ?p ?o }")


def test_a_directory_in_use_is_told(write, tmp_path, capsys):
    """A broker may be running on it."""
    data = tmp_path / "data"
    with opened(data):
        assert cli.run(["load", "--data", str(data), write("a.nt", FILES["a.nt"])]) == 1

    assert "in use by another broker" in capsys.readouterr().err


@pytest.mark.parametrize("before", [b"", b'<a:s> <a:p> "y" .\n'])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_bad_file_does_not_harm_the_directory(write, tmp_path, before, engine):
    """Nothing of it is there."""
    data = tmp_path / "data"
    arguments = ["load", "--data", str(data), "--engine", engine]
    assert cli.run([*arguments, write("before.nt", before)]) == 0

    assert cli.run([*arguments, write("a.nt", b'<a:s> <a:p> "x" .\nnonsense\n')]) == 1

    with opened(data, engine) as store:
        assert len(store) == before.count(b"\n")
    assert not (data / "loading").exists()


def test_on_a_terminal_the_progress_is_shown(fake, write, capsys, monkeypatch):
    """By the bytes that have been read."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    assert load(fake, write("a.ttl.gz", gzip.compress(FILES["a.ttl"]))) == 0

    assert "100%" in capsys.readouterr().err
