"""Oxigraph asked for syntax, and nothing else."""

from __future__ import annotations

import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.jsap.lexical import XSD
from triplewire.jsap.syntax import is_valid, place, query_fault, update_fault


@pytest.fixture
def listener():
    """A port, and how many connections it has had."""
    seen = []

    def accept():
        while True:
            try:
                connection, address = server.accept()
            except OSError:
                return
            seen.append(address)
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1], seen
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_right_texts_have_no_fault():
    """Relative IRIs are right too; an update may be empty."""
    assert query_fault("SELECT * {<a> ?p ?o}") is None
    assert query_fault("BASE <http://x/> PREFIX a: <b> ASK {a:b ?p ?o}") is None
    assert update_fault("INSERT DATA {<a> <b> <c>} ; DROP ALL ;") is None
    assert update_fault("BASE <http://x/> PREFIX a: <b> # so\nINSERT DATA {a:a <b> <c>}") is None
    assert update_fault("") is None


def test_nothing_of_an_update_is_run():
    """Not even what would fail: a graph that is created twice, one that is not there."""
    assert update_fault("CREATE GRAPH <g> ; CREATE GRAPH <g>") is None
    assert update_fault("DROP GRAPH <none>") is None


def test_the_network_is_never_reached(listener):
    """LOAD and SERVICE are parsed and not carried out, whatever form of query they are in."""
    port, seen = listener
    url = f"<http://127.0.0.1:{port}/>"
    assert update_fault(f"LOAD {url}") is None
    assert update_fault(f"LOAD SILENT {url} INTO GRAPH <g>") is None
    assert update_fault(f"INSERT {{?s ?p ?o}} WHERE {{SERVICE {url} {{?s ?p ?o}}}}") is None
    for query in (
        "ASK {%s}",
        "SELECT * {%s} ORDER BY ?s",
        "SELECT (COUNT(*) AS ?n) {%s}",
        "DESCRIBE ?s {%s}",
    ):
        assert query_fault(query % f"SERVICE {url} {{?s ?p ?o}}") is None
        assert query_fault(query % f"SERVICE SILENT {url} {{?s ?p ?o}}") is None
    assert seen == []


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("SELECT * {?s ?p}", "not SPARQL near '}'", 1, 16),
        ("SELECT *\n{?s ?p ?o\n ?x}", "not SPARQL near '?x}'", 3, 2),
        ('SELECT * {?s ?p "ვაიმეე" ?x ?y ?z}', "not SPARQL near '?x ?y ?z}'", 1, 26),
        ("SELECT * {?s a:b ?o}", "Prefix not found near 'a:b ?o}'", 1, 14),
        ("SELECT * {?s <http://[> ?o}", "IRI parsing failed near '<http://[> ?o}'", 1, 14),
        ("FOO", "not SPARQL near 'FOO'", 1, 1),
        ("SELECT * {SERVICE <urn:s> {?s ?p}}", "not SPARQL near '}}'", 1, 33),
        ("SELECT * {", "not SPARQL at its end", 1, 11),
    ],
)
def test_where_a_query_is_wrong(text, reason, line, column):
    """The reason quotes what stands there."""
    fault = query_fault(text)
    assert fault.reason == reason
    assert place(text, fault.offset) == (line, column)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("INSERT DATA {<a> <b>}", 20),
        ("PREFIX a: <urn:a>\nINSERT DATA {a:a <b>}", 38),
        ("BASE <urn:x> BASE", 17),
        ("BASE <urn:x>\n# comment\nINSERT DATE {}", 30),
        ("INSERT DATA {<a> <b> <c>} ; FOO", 28),
        ("SELECT * {}", 0),
    ],
)
def test_where_an_update_is_wrong(text, offset):
    """Counted in the text itself, not in what it was parsed with."""
    assert update_fault(text).offset == offset


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("INSERT DATA {<a> <b> ?c} \n", "Variables are not allowed in INSERT DATA"),
        ("DELETE DATA {<a> <b> _:c}", "Variables and blank nodes are not allowed in DELETE DATA"),
        (
            "INSERT DATA {_:b <p> 1} ; INSERT DATA {_:b <p> 2}",
            "The blank node _:b cannot be shared by multiple blocks",
        ),
    ],
)
def test_what_is_wrong_with_the_whole(text, reason):
    """Then there is no place."""
    assert update_fault(text) == (reason, None)


@pytest.mark.parametrize(
    ("form", "datatype", "expected"),
    [
        ("5", "integer", True),
        ("5.5", "integer", False),
        ("", "integer", False),
        ("2018-06-28T00:00:00", "dateTime", True),
        ("00:00", "dateTime", False),
        ('"\\\n', "dateTime", False),
        ("False", "boolean", False),
        ("whatever", "dateTimeStamp", True),
    ],
)
def test_lexical_forms(form, datatype, expected):
    """Datatypes that Oxigraph does not cast to are not judged."""
    assert is_valid(form, XSD + datatype) is expected


@given(st.text())
def test_any_text_has_a_fault_or_none(text):
    """Nothing is raised; a fault's place is in the text."""
    for fault in (query_fault(text), update_fault(text)):
        if fault is not None and fault.offset is not None:
            assert 0 <= fault.offset <= len(text)
            assert fault.reason
