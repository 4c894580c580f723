import pytest

from triplewire.clients import cli, cli_query

SELECT = "PREFIX ex: <http://example.org/> SELECT ?s ?v { ?s ex:value ?v }"


@pytest.fixture
def data(fake):
    fake.update('INSERT DATA { <http://example.org/a> <http://example.org/value> 1, "<b>[red]" }')
    return fake


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(cli_query, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")


def query(fake, *arguments):
    return cli.run(["query", "--url", fake.http, *arguments])


def test_into_a_pipe_rows_are_tsv(data, capsysbinary):
    """As the broker writes it."""
    assert query(data, SELECT) == 0

    out = capsysbinary.readouterr().out
    assert out.startswith(b"?s\t?v\n<http://example.org/a>\t")
    assert data.requests[0]["headers"]["Accept"].startswith("text/tab-separated-values")


def test_into_a_pipe_triples_are_n_triples(data, capsysbinary):
    """CONSTRUCT and DESCRIBE."""
    assert query(data, "CONSTRUCT WHERE { ?s ?p 1 }") == 0

    out = capsysbinary.readouterr().out
    assert out.startswith(b"<http://example.org/a> <http://example.org/value>")


def test_into_a_pipe_truth_is_a_line(data, capsysbinary):
    """Whether the format ends it with one or not."""
    assert query(data, "ASK {}") == 0

    assert capsysbinary.readouterr().out == b"true\n"


def test_on_a_terminal_rows_are_a_table(data, terminal, capsys):
    """With the query's prefixes; what looks like markup is text."""
    assert query(data, SELECT) == 0

    out = capsys.readouterr().out
    assert "ex:a" in out
    assert '"<b>[red]"' in out
    assert "2 rows" in out


def test_on_a_terminal_triples_are_a_table(data, terminal, capsys):
    """Of three columns."""
    assert query(data, "CONSTRUCT WHERE { ?s ?p 1 }") == 0

    out = capsys.readouterr().out
    assert "subject" in out
    assert "1 row\n" in out


@pytest.mark.parametrize(("text", "answer"), [("ASK {}", "true\n"), ("ASK { <a:x> ?p ?o }", "false\n")])
def test_on_a_terminal_truth_is_a_word(data, terminal, capsys, text, answer):
    """Nothing else."""
    assert query(data, text) == 0

    assert capsys.readouterr().out == answer


def test_a_format_that_is_asked_for_is_the_brokers_bytes(data, terminal, capsysbinary):
    """On a terminal too."""
    assert query(data, "--format", "json", SELECT) == 0

    assert b'"bindings":[{' in capsysbinary.readouterr().out
    assert data.requests[0]["headers"]["Accept"] == "application/sparql-results+json"


def test_the_dataset_can_be_given(data, capsys):
    """More than one graph of each kind."""
    query(
        data,
        "--default-graph",
        "http://g/1",
        "--default-graph",
        "http://g/2",
        "--named-graph",
        "http://g/3",
        SELECT,
    )

    assert data.requests[0]["params"] == {
        "default-graph-uri": ["http://g/1", "http://g/2"],
        "named-graph-uri": ["http://g/3"],
    }


def test_the_query_can_be_in_a_file(data, tmp_path, capsys):
    """UTF-8."""
    file = tmp_path / "q.rq"
    file.write_text("ASK { FILTER('თბილისი' = 'თბილისი') }", encoding="utf-8")

    assert query(data, "-f", str(file)) == 0
    assert capsys.readouterr().out == "true\n"
